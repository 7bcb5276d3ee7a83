package enginetest

import (
	"context"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// Object is an object whose operations are tried under faults.
type Object struct {
	Old    func(t testing.TB, raw rueidis.Client, name string)        // makes it
	State  func(t testing.TB, raw rueidis.Client, name string) string // says what it has
	Before string                                                     // its state, as Old has made it
	Writes map[string]Write
	Reads  map[string]Read
	Needs  []string // writes that a server without memory refuses, too
	Read   string   // the write whose object is read while the server refuses
	On     []redistest.Option
}

// Do is an operation on the object of a name.
type Do func(ctx context.Context, e *locking.Engine, name string) (any, error)

// Write is an operation that writes, by one request.
type Write struct {
	Do    Do
	Sends redistest.Match
	Left  string // the state that it leaves, "" for one by chance
}

// Read is an operation that only reads.
type Read struct {
	Do     Do
	Sends  redistest.Match
	Answer any // nil: it depends
}

// Fresh returns a name whose keys are deleted when the test ends, and so is what is called so behind "to:".
func Fresh(t testing.TB, raw rueidis.Client) string {
	t.Helper()
	name := redistest.Named(t, raw)
	t.Cleanup(func() { raw.Do(context.Background(), raw.B().Del().Key("to:{"+name+"}").Build()) })
	return name
}

// about matches requests about a name. An EXEC names nothing.
func about(m redistest.Match, name string) redistest.Match {
	return func(cmd []string) bool {
		return m(cmd) && (redistest.Command("EXEC")(cmd) || redistest.Arg(name)(cmd))
	}
}

// LosesReplies drops the reply to each write once: it has been done, and is not sent again.
func (o Object) LosesReplies(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t, o.On...)
	for what, one := range o.Writes {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			name, got := o.withoutReply(t, server, one.Do, one.Sends)
			require.ErrorIs(t, got.err, core.ErrOutcomeUnknown)
			require.ErrorContains(t, got.err, name)
			if one.Left != "" {
				require.Equal(t, one.Left, got.left, "it was done")
			}
		})
	}
}

// ReadsAgain drops the reply to each read once: it is sent again.
func (o Object) ReadsAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t, o.On...)
	for what, one := range o.Reads {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			_, got := o.withoutReply(t, server, one.Do, one.Sends)
			require.NoError(t, got.err)
			if one.Answer != nil {
				require.Equal(t, one.Answer, got.answer)
			}
			require.Equal(t, o.Before, got.left, "it writes nothing")
		})
	}
}

// outcome is what an operation returns, and the state that it leaves.
type outcome struct {
	answer any
	err    error
	left   string
}

// withoutReply runs an operation on an object whose first reply is dropped.
func (o Object) withoutReply(t *testing.T, server *redistest.Server, do Do, sends redistest.Match) (name string, got outcome) {
	t.Helper()
	raw := server.Client(t)
	client, proxy := redistest.ThroughProxy(t, server)
	name = Fresh(t, raw)
	o.Old(t, raw, name)
	lost := proxy.DropReply(about(sends, name), 1)
	got.answer, got.err = do(t.Context(), On(t, client), name)
	lost.Await(t)
	got.left = o.State(t, raw, name)
	return name, got
}

// Closed has each operation on an object of a closed client fail.
func (o Object) Closed(t *testing.T) {
	t.Parallel()
	e := On(t, redistest.MiniredisClient(t))
	require.NoError(t, locking.Close(context.Background(), e))
	for what, one := range o.Writes {
		_, err := one.Do(t.Context(), e, "name")
		require.ErrorIs(t, err, core.ErrClosed, what)
	}
	for what, one := range o.Reads {
		_, err := one.Do(t.Context(), e, "name")
		require.ErrorIs(t, err, core.ErrClosed, what)
	}
}
