package rwlock

import (
	"context"
	"strconv"
	"strings"

	"github.com/rueidisson/rueidisson/internal/keys"
)

// perClear is how many keys one script that drops readers looks at: a script
// blocks the server while it runs.
const perClear = 1000

// clear drops readers whose own keys have expired: their leases have ended. Readers that it fails
// to drop now are dropped by the next call, or when the name expires.
func (s *server) clear(ctx context.Context) {
	state, err := s.inspect(ctx)
	if err != nil || state.mode != readKind {
		return
	}
	for _, part := range s.parts(state.holders) {
		on := append([]string{s.name}, part.keys...)
		args := append([]string{s.channel, s.e.Publish()}, part.args...)
		if _, err := s.e.Run(ctx, clearScript, on, args); err != nil {
			s.e.Logger.Debug("dropping readers whose leases have ended", "name", s.name, "err", err)
			return
		}
	}
}

// part is some readers and their own keys.
type part struct{ keys, args []string }

// parts returns the readers in parts of about perClear keys. A reader with more levels than that
// gets no part: a script must not take so long.
func (s *server) parts(readers []holder) (all []part) {
	for _, r := range readers {
		if r.count < 1 || r.count > perClear || strings.HasSuffix(r.owner, ":write") {
			continue
		}
		if len(all) == 0 || len(all[len(all)-1].keys)+r.count > perClear {
			all = append(all, part{})
		}
		p := &all[len(all)-1]
		for level := range r.count {
			p.keys = append(p.keys, keys.ReaderMark(s.name, r.owner, level+1))
		}
		p.args = append(p.args, r.owner, strconv.Itoa(r.count))
	}
	return all
}
