package reliable

import (
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
)

// names is one queue as the server sees it.
type names struct {
	key   string   // the mapped name
	parts []string // the keys of the queue, as scripts have them
	lease string   // one of them
	lane  string   // what the lanes of this client begin with
	wake  string   // what the channels of those who wait begin with
	done  string   // channel of results

	cancelled string // channel of what was taken from who has it
}

func newNames(e *locking.Engine, mapped string) *names {
	return &names{
		key: mapped, parts: keys.Reliable(mapped), lease: keys.ReliableLeases(mapped),
		lane: keys.ReliableLane(mapped, e.ClientID), wake: keys.ReliableWake(mapped), done: keys.ReliableDone(mapped),
		cancelled: keys.ReliableCancelled(mapped),
	}
}

// on returns the keys of a script: the parts, further ones, and the last.
func (of *names) on(last string, more ...string) []string {
	all := make([]string, 0, len(of.parts)+len(more)+1)
	return append(append(append(all, of.parts...), more...), last)
}

// counts returns what scripts are told of whether a message that reached nobody proves
// that nobody listens.
func counts(e *locking.Engine) string {
	return flag(e.CountsAll())
}

// flag returns a yes or no of a script.
func flag(is bool) string {
	if is {
		return "1"
	}
	return "0"
}
