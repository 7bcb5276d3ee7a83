package fairlock

import (
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/lockkit"
)

// init gives packages semaphore and election, through package lockkit, access to what follows.
func init() {
	lockkit.LendFairLock(lockkit.FairLock{
		Order: func(e *locking.Engine, key string) any {
			l := newLock(e, key, key)
			l.p.kind = locking.KindOrder
			return l
		},
		Fenced: func(e *locking.Engine, name, kind string) (any, error) {
			l := New(e, name)
			l.p.kind, l.p.token = kind, keys.LockToken(l.p.name)
			return l, l.bad
		},
	})
	lockkit.LendIdentity(func(l *Lock) (*locking.Engine, core.Key) { return l.p.e, l.p.Key() })
}
