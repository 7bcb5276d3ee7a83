package poller

import (
	"context"
	"time"
)

// Server is what a Poller needs of Redis, and of the client that it belongs to.
type Server interface {
	// Slot is the slot of a key: one command may name the keys of one slot.
	Slot(key string) uint16
	// Node names the server of a slot, as far as it is known; "" is one, too.
	Node(slot uint16) string
	// Connect opens a connection of our own to a node. It ends with ctx.
	Connect(ctx context.Context, node string) (Conn, error)
	// Pop takes up to n by the connection that everything goes by, which follows a
	// slot that moves.
	Pop(k *Kind, key string, n int) ([]Item, error)
	// Pop0 says whether the key can be popped from, and takes nothing.
	Pop0(k *Kind, key string) error
	// PutBack has what nobody wants put back to where it was taken from.
	PutBack(k *Kind, key string, items []Item)
	// Judge says what an error means for those who wait.
	Judge(err error) Verdict
	// Replied reports whether an error is an answer of the server.
	Replied(err error) bool
	// Lost is told that items may be lost: the answer of a pop was.
	Lost(err error)
	// Spawn runs a worker on a goroutine that is waited for when the client closes,
	// or says that it does no more.
	Spawn(func()) bool
	// Closing is closed when the client closes.
	Closing() <-chan struct{}
}

// Conn is a connection on which one command is under way at a time.
type Conn interface {
	// Block sends the blocking pop of a kind, whose answer is expected to have so many bytes; 0: nobody knows. It returns
	// the key that had the element, or of a kind that tells all that have something. Without any ok is false.
	Block(k *Kind, keys []string, timeout time.Duration, bytes int64) (had []string, it Item, ok bool, err error)
	// Look asks about several names at once, in one pipeline.
	Look(all []Look) []Seen
	// Pop pops up to n, which are expected to have so many bytes; 0: nobody knows.
	Pop(k *Kind, key string, n int, bytes int64) ([]Item, error)
	// PopEach pops one of each, in one pipeline. Bytes is as for Pop, of all.
	PopEach(all []Look, bytes int64) []Popped
	// Unblock ends a Block that is under way. It is false if there is none yet, or
	// none any more. It is called while Block is.
	Unblock() (bool, error)
	// Deaf reports that Unblock can do nothing.
	Deaf() bool
	// Close ends the connection, and what is under way.
	Close()
}

// Verdict is what an error says.
type Verdict int

const (
	// Final will be said again: it is the caller's business.
	Final Verdict = iota
	// Passing may be over soon: nothing was taken.
	Passing
	// Full is Passing: the server has no memory for a command that may write. One that
	// takes is not refused so.
	Full
	// Moving is of a slot that is on its way to another node.
	Moving
	// Unknown is no answer: something may have been taken.
	Unknown
)
