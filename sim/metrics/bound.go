package metrics

// Bound returns what the steps were made of that tokens have waited for so far.
func (m *Recorder) Bound() Bound { return m.account.summary() }
