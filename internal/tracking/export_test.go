package tracking

import "time"

// Field is what a line about a client says of a name.
var Field = field

// Beat is how often nodes are asked.
func (t *Tracker) Beat() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.beat
}
