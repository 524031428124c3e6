package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// failure is an error in the API's form.
type failure struct {
	status  int
	kind    string
	message string
	param   string // empty: of no single one
}

func (f *failure) Error() string { return f.message }

// bad refuses a value of a request.
func bad(param, format string, args ...any) *failure {
	return &failure{http.StatusBadRequest, "BadRequestError", fmt.Sprintf(format, args...), param}
}

// refused is a failure that is not about the body of a request.
func refused(status int, kind, format string, args ...any) *failure {
	return &failure{status, kind, fmt.Sprintf(format, args...), ""}
}

// body returns the JSON of f.
func (f *failure) body() []byte {
	var param *string
	if f.param != "" {
		param = &f.param
	}
	b, err := json.Marshal(map[string]any{"error": map[string]any{
		"message": f.message, "type": f.kind, "param": param, "code": f.status,
	}})
	if err != nil {
		panic(err) // it consists of strings
	}
	return b
}

// write answers with f.
func (f *failure) write(w http.ResponseWriter) {
	if f.status == http.StatusTooManyRequests || f.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	if f.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	writeBody(w, f.status, f.body())
}

func writeBody(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone
}

func writeJSON(w http.ResponseWriter, x any) {
	body, err := json.Marshal(x)
	if err != nil {
		refused(http.StatusInternalServerError, "InternalServerError", "%s", err).write(w)
		return
	}
	writeBody(w, http.StatusOK, body)
}
