package locking

import (
	"context"
	"errors"
	"sync"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/places"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/wait"
)

// Engine is the shared part of one client.
type Engine struct {
	*wait.Waits

	locals   *places.Places[string, *local] // by the mapped name
	places   sync.Pool                      // places in local queues, to be used again
	attempts sync.Pool                      // likewise
	returns  sync.Pool                      // likewise
	chains   sync.Map                       // mapped name -> *Held, the last acquisition with fencing tokens
	highest  highest
	once     sync.Once
	closed   error
}

// Engine returns e. An object passes it on to the objects that it is made of, whose constructors take a client.
func (e *Engine) Engine() *Engine { return e }

// New puts an engine on top of a Redis client, after asking the server whether
// it can serve one.
func New(ctx context.Context, client rueidis.Client, cfg core.Config) (*Engine, error) {
	sender := send.New(core.New(client, cfg))
	if err := send.Start(ctx, sender); err != nil {
		return nil, err
	}
	return newEngine(wait.New(lease.New(sender, nil), nil)), nil
}

// newEngine returns the engine on the floors below.
func newEngine(w *wait.Waits) *Engine {
	e := &Engine{Waits: w}
	e.locals = &places.Places[string, *local]{
		Make:  func(string) *local { return &local{e: e} },
		Left:  (*local).left,
		Idle:  func(l *local) bool { return l.courtesy.Idle() }, // it remembers whom to stand back for
		Reuse: (*local).reuse,
	}
	return e
}

// Close ends the engine: new calls fail, waiters wake and the contexts of
// holds end, all with ErrClosed; renewals stop. Then it waits for the holders
// to unlock, for as long as ctx and their leases last. What they leave is not
// released under them but left to its lease, and named in the error. Calls
// after the first return the first one's result.
func Close(ctx context.Context, e *Engine) error {
	e.once.Do(func() {
		core.Shut(e.Core)
		lease.Shut(e.Keeper)
		left := lease.AwaitHolders(ctx, e.Keeper)
		defer send.CutShort(ctx, e.Sender)()
		wait.End(e.Waits)
		e.closed = errors.Join(left, send.End(e.Sender))
	})
	return e.closed
}
