package engine

import (
	"context"
	"time"

	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// Protocol is what one kind of lock says to the server about one name. Its
// methods send scripts through Engine.Run and read their answers; waiting,
// order, trust and give-back are the engine's.
type Protocol interface {
	Granter
	// Label is what the observer is told as the kind.
	Label() string
	// Channel is where releases are announced.
	Channel() string
	// Acquire tries once to take the lock for a fresh owner.
	Acquire(ctx context.Context, a Try) (Tried, error)
	// Release gives back a private owner.
	Release(ctx context.Context, owner string) (Released, error)
}

// Joinable is a kind of lock whose holds others may have levels of.
type Joinable interface {
	Protocol
	// Export renames a private owner to one that others may join. It is false
	// if neither of the two holds the lock.
	Export(ctx context.Context, private, exported string) (bool, error)
	// Join adds a level to an exported owner. It is false if that does not hold
	// the lock.
	Join(ctx context.Context, owner, request string, lease time.Duration) (Tried, error)
	// Leave undoes a join, whether or not it has arrived yet.
	Leave(ctx context.Context, owner, request string) error
	// Unlock gives back one level of an exported owner. It is false if that does
	// not hold the lock.
	Unlock(ctx context.Context, owner, request string, lease time.Duration) (bool, error)
}

// Try is one question for a lock.
type Try struct {
	Owner string // fresh
	Lease time.Duration
	Again bool // whoever asks has asked before, in the same wait
	Queue bool // it waits if it is refused
	// Thorough is set about once a second of a wait: time for what the server
	// need not do at each try.
	Thorough bool
}

// Tried is the answer.
type Tried struct {
	Free     bool             // it was free and is ours now
	Left     time.Duration    // else: the present holder's lease, negative if it has none
	Fence    int64            // the fencing token of the acquisition; 0: the kind has none
	Hint     int64            // the kind's own word about what it saw
	Started  watchdog.Instant // before the send that was answered
	Replayed bool             // an earlier send, whose reply was lost, may still arrive
	Latch    string           // of a join: the key that remembers it
}

// Granting is a kind of lock whose release may give it, in the same step, to
// one who waits in this process.
type Granting interface {
	Protocol
	// ReleaseTo gives back a private owner, to that one of next whose turn it is
	// on the server, if there is one. Its replay finds the grant in place.
	ReleaseTo(ctx context.Context, owner string, next []Candidate) (Granted, error)
}

// Candidate is a waiter of this process: its owner, which is fresh, and the
// lease that it asks for.
type Candidate struct {
	Owner string
	Lease time.Duration
}

// Granted is the answer to a release that may have given the lock on.
type Granted struct {
	Released
	Owner   string           // the candidate that holds the lock now; "": none of them
	Fence   int64            // its fencing token; 0: the kind has none
	Started watchdog.Instant // before the send that was answered: its lease counts from there
}
