package tracking

import (
	"context"
	"errors"
	"time"
)

// Source is what a Tracker needs of Redis.
type Source interface {
	// Locate names the node that has the key, as far as is known.
	Locate(ctx context.Context, key string) (node string, err error)
	// Doubt says that what Locate knows proved wrong.
	Doubt()
	// Connect opens a tracked connection. Changed is told, in their order, which
	// keys have changed, or with nil that all may have: also when it ends. It must
	// not block.
	Connect(ctx context.Context, node string, changed func(keys []string)) (Conn, error)
}

// Conn is a tracked connection. Its methods may be called at the same time.
type Conn interface {
	// Left reads keys, and says how long each stays: [Gone], [Stays], or so long.
	// An answer that is an error is about its key; an error about all of them says
	// that none was answered, or that this is not the connection any more that is
	// tracked, which is made sure of each time.
	Left(ctx context.Context, keys []string) ([]Answer, error)
	// Master reports whether the node says that it is a master; with an error as
	// Left has.
	Master(ctx context.Context) (bool, error)
	// Done yields the reason, or is closed, when the connection has ended.
	Done() <-chan error
	// Close ends the connection.
	Close()
}

// Answer is what the server says of one key.
type Answer struct {
	Left time.Duration
	Err  error
}

// What is said of a key without an end.
const (
	Stays time.Duration = -1
	Gone  time.Duration = -2
)

// ErrUnsupported says that the server, or the protocol that the client speaks,
// has no tracking.
var ErrUnsupported = errors.ErrUnsupported

// Listener is told of one key. Its functions must not block.
type Listener interface {
	// Dropped says that what was read of the key counts no more.
	Dropped()
	// Alive says that every change from before then has been told.
	Alive(at time.Time)
	// Used reports whether it is worth asking for the key again.
	Used() bool
}
