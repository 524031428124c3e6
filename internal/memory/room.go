package memory

import "fmt"

// Room refuses so many bytes of memory more where there are fewer. Where nobody knows, it refuses nothing.
func Room(bytes int64) error { return room(bytes, Available()) }

func room(bytes, available int64) error {
	if available == 0 || bytes <= available {
		return nil
	}
	return fmt.Errorf("this would take %.2f GB of memory more, and %.2f GB are available", float64(bytes)/1e9,
		float64(available)/1e9)
}
