package lock

import (
	"strings"
	"time"

	"github.com/rueidisson/rueidisson/internal/locking"
)

// Holder is who holds a lock at the moment of the question.
type Holder struct {
	// Owner is the text in Redis, "<client id>:<decimal>"; "" if nobody holds
	// the lock. Goroutines of one client that hand the lock over share one.
	Owner string
	// Count is how many levels stand on the server: 1 for a private hold of
	// this library, whose re-entries are counted in its process.
	Count int
	// Remaining is the lease that is left, -1 if it never ends.
	Remaining time.Duration
	// Mine says that the owner belongs to this client.
	Mine bool
}

// Held reports whether somebody holds the lock.
func (h Holder) Held() bool { return h.Owner != "" }

func newHolder(e *locking.Engine, owner string, count, leftMillis int64) Holder {
	left := time.Duration(leftMillis) * time.Millisecond
	if leftMillis < 0 {
		left = -1
	}
	client, _, _ := strings.Cut(owner, ":")
	return Holder{Owner: owner, Count: int(count), Remaining: left, Mine: client == e.IDs.Client()}
}
