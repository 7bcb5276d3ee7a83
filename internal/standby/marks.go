package standby

import "time"

// marks are when something last happened to each of some buckets. Of many, it
// is only remembered that it happened to some bucket by then.
type marks struct {
	by   map[string]time.Duration
	some time.Duration
}

const maxMarks = 1024

func (m *marks) set(state string, now time.Duration) {
	if m.by == nil {
		m.by = make(map[string]time.Duration)
	}
	if _, there := m.by[state]; !there && len(m.by) >= maxMarks {
		for _, when := range m.by {
			m.some = max(m.some, when)
		}
		clear(m.by)
	}
	m.by[state] = max(m.by[state], now) // of two at once, the earlier may come last
}

// of returns when it happened to a bucket at the latest, 0 for never.
func (m *marks) of(state string) time.Duration { return max(m.some, m.by[state]) }
