package locking

import (
	"context"
	"time"

	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// Protocol is what one kind of lock says to the server about one name. Its
// methods send scripts through send.Sender.Run and read their answers; waiting,
// order, trust and give-back are the engine's.
type Protocol interface {
	lease.Protocol
	// Label is what the observer is told as the kind.
	Label() string
	// Channel is where releases are announced.
	Channel() string
	// Acquire tries once to take the lock for a fresh owner.
	Acquire(ctx context.Context, a Try) (Tried, error)
	// Release gives back a private owner.
	Release(ctx context.Context, owner string) (lease.Released, error)
}

// Announcing is a kind of lock of which several may share the channel of releases. What was released is said on
// another one, so that only those who wait for that look.
type Announcing interface {
	Protocol
	// Announced is that channel.
	Announced() string
	// Announces reports whether a message of it is of this lock. It is called on the hub's goroutine.
	Announces(payload string) bool
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

// Fencing is a kind of lock whose holds may have fencing tokens.
type Fencing interface {
	Protocol
	// Fences reports whether they have.
	Fences() bool
	// Reserve raises the counter of tokens by n for an owner, and returns the last
	// of the n numbers that are its own then. It is 0 if the owner does not hold
	// the lock.
	Reserve(ctx context.Context, owner string, n int) (last int64, err error)
}

// Try is one question for a lock.
type Try struct {
	Owner string // fresh
	Lease time.Duration
	Again bool // whoever asks has asked before, in the same wait
	Queue bool // it waits if it is refused
	// Sharers is set if others of this process wait behind it, for a hold that they
	// share. One who does not want to share it lets them go first if Tried.Hint says
	// that it is their turn.
	Sharers bool
	Block   int // how many fencing tokens it wants beside its own, for those it may hand the lock to
	// Stood is set once one who shares has stood back for a watchdog timeout, in this
	// wait, for others who want the lock alone and wait for it.
	Stood bool
	// Thorough is set about once a second of a wait: time for what the server
	// need not do at each try.
	Thorough bool
	Slack    time.Duration // see Heartbeat
}

// Tried is the answer.
type Tried struct {
	Free     bool             // it was free and is ours now
	Left     time.Duration    // else: the present holder's lease, negative if it has none
	Fence    int64            // the fencing token of the acquisition; 0: the kind has none
	Block    int              // how many behind that one are reserved for it
	Hint     int64            // the kind's own word about what it saw; to who shares, that somebody waits to have it alone
	Started  watchdog.Instant // before the send that was answered
	Replayed bool             // an earlier send, whose reply was lost, may still arrive
	Latch    string           // of a join: the key that remembers it
	Clock    time.Duration    // the server's, of a kind that is Queued and refused
}

// Quitting is a kind of lock that leaves something on the server while one waits
// for it.
type Quitting interface {
	Protocol
	// Quit takes that back. It is called behind a wait that ended without the
	// lock.
	Quit(ctx context.Context) error
}

// HandoverProtocol is a kind of lock whose release may give it, in the same step, to
// one who waits in this process.
type HandoverProtocol interface {
	Protocol
	// ReleaseTo gives back a private owner, to that one of next whose turn it is
	// on the server, if there is one. Its replay finds the grant in place.
	ReleaseTo(ctx context.Context, owner string, next []Candidate) (HandoverResult, error)
}

// Candidate is a waiter of this process: its owner, which is fresh, and the
// lease that it asks for.
type Candidate struct {
	Owner string
	Lease time.Duration
}

// HandoverResult is the answer to a release that may have given the lock on.
type HandoverResult struct {
	lease.Released
	Owner   string           // the candidate that holds the lock now; "": none of them
	Fence   int64            // its fencing token; 0: the kind has none
	Started watchdog.Instant // before the send that was answered: its lease counts from there
}

// KindOrder is the kind of a fair lock that orders the waiters of another object. It may be
// held for as long as that is waited for.
const KindOrder = "order"

// Alive is for how long a process counts as alive that has said so to a lock
// that is Queued.
const Alive = 1400 * time.Millisecond

// Queued is a kind of lock whose order is the server's, over all processes: each
// waiter has a place of its own there. A process says again and again that it is
// alive, and so keeps the places of its waiters.
type Queued interface {
	HandoverProtocol
	// Turns is the channel on which this client is told whose turn it is.
	Turns() string
	// Told is the channel on which one waiter is told that it is its turn by
	// another library, if a try's Hint says so.
	Told(owner string) string
	// Wake is the waiter that a message on Turns is for; "": none of this client.
	Wake(payload string) (owner string)
	// Keep says that this process is alive, and asks whose turn it is.
	Keep(ctx context.Context, k Heartbeat) (HeartbeatReply, error)
	// Quit takes out a waiter of which no send is under way, and gives back what
	// it may have been granted. GiveBack does so for any other.
	Quit(ctx context.Context, owner string) error
	// Skip takes out a waiter that is no longer there, and nothing else.
	Skip(ctx context.Context, owner string) error
}

// Heartbeat is what a process has to say of its waiters.
type Heartbeat struct {
	Slack time.Duration // of deadlines that another library's clock decides about
	Walk  Walk
	Clock time.Duration // the server's, as far as the process knows: what was on its way for long is out of date
	Lost  []string      // waiters that have lost their places, in order
}

// Walk is what a Keep does for the places of the process.
type Walk int

const (
	// WalkNot does nothing for them.
	WalkNot Walk = iota
	// WalkCount lengthens their deadlines, and counts them.
	WalkCount
	// WalkList lists them as well.
	WalkList
)

// HeartbeatReply is the answer to a Keep.
type HeartbeatReply struct {
	Free    bool
	Left    time.Duration    // else: of the holder's lease, negative if it has none
	Owner   string           // that of this client whose turn it is, or that holds the lock; "": none
	Soon    time.Duration    // until somebody may be passed over; negative: nobody
	Found   int              // places of this process, if they were counted; negative: it came too late to bring back the lost
	Places  []string         // if they were listed
	Clock   time.Duration    // the server's
	Started watchdog.Instant // before the send that was answered
}
