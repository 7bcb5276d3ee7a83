package engine

import "time"

// Clock is a wall clock that somebody may move. Objects whose format counts in
// the clients' time go by it.
type Clock interface {
	Now() time.Time
	// Moved has f called whenever the clock has been moved. f must not block.
	Moved(f func())
}

// Wall returns the client's time, in milliseconds since 1970.
func (e *Engine) Wall() int64 {
	if e.Clock != nil {
		return e.Clock.Now().UnixMilli()
	}
	return time.Now().UnixMilli()
}
