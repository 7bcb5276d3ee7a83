package wait

import (
	"context"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Watch is a wait for something that the server tells of on channels, and that
// one finds out by looking.
type Watch struct {
	// Key names what is waited for.
	Key core.Key
	// Channels are where it is announced; the kinds may differ.
	Channels []pubsub.Channel
	// Heard reports whether a message is a reason to look; nil: each is. It is
	// called on the hub's goroutine, and must not block.
	Heard func(payload string) bool
	// Look asks the server. If the wait is not over, left is how long until it
	// may be without a message, negative if nobody knows.
	Look func(ctx context.Context) (left time.Duration, done bool, err error)
	// By, unless it is nil, hears in the place of a listener of this wait's own, and
	// with its own Heard. It stays open when the wait ends.
	By *Listener
	// Outage, unless it is nil, is what all who wait for the name in this process
	// share, also those whose wait begins when this one ends.
	Outage *send.Outage
	// Since is since when the caller has waited for its turn to look, by
	// its Now().Mono. If another has given up meanwhile, it does so at once. 0: it
	// has just come.
	Since time.Duration
	// Looked says that the last look of another who waited by the same listener
	// counts for this wait too: there is no need to look before something is heard.
	Looked bool
}

// Watch looks, subscribes, looks again, and then whenever something is heard,
// when what the last look said was left is over, and every few seconds in any
// case. It ends when a look is done, with ctx, or when the client closes. A
// server that does not answer, or refuses for a passing reason, is borne for a
// watchdog timeout; other errors end the wait at once.
func (w *Waits) Watch(ctx context.Context, of Watch) error {
	if w.Open() != nil || !w.Tasks.Begin() {
		return core.ErrClosed
	}
	defer w.Tasks.Done()
	if ctx.Err() != nil {
		return core.ContextError(ctx)
	}
	if of.Since > 0 {
		if err := of.Outage.GivenUp(w.Sender, of.Since); err != nil {
			return err
		}
	}
	if of.By != nil {
		return (&watch{Watch: of, on: w, listener: of.By}).run(ctx)
	}
	watching := &watch{Watch: of, on: w, listener: NewListener(of.Heard, nil)}
	defer watching.listener.Close()
	return watching.run(ctx)
}

// WatchOn is Watch behind a first look that the caller has made already, when
// nobody listened, and what that said: who need not wait makes no Watch at all.
// It needs a By, and is called where Close waits for the caller.
func (w *Waits) WatchOn(ctx context.Context, of Watch, left time.Duration, err error) error {
	return (&watch{Watch: of, on: w, listener: of.By}).after(ctx, left, err)
}

// watch is a Watch under way.
type watch struct {
	Watch
	on       *Waits
	listener *Listener
	outage   *send.Outage // of the server
	deaf     send.Outage  // of the subscriptions
}

func (w *watch) run(ctx context.Context) error {
	if w.listener.Listens() {
		if w.Looked {
			return w.after(ctx, -1, nil)
		}
		w.listener.Drain()
	} else {
		w.on.ListenIfStanding(ctx, w.listener, w.Channels)
	}
	left, done, err := w.Look(ctx)
	if done {
		w.Outage.Answered()
		return nil
	}
	return w.after(ctx, left, err)
}

// ListenIfStanding joins subscriptions that the process has anyway, so that the
// first look already counts as the one behind them.
func (w *Waits) ListenIfStanding(ctx context.Context, r *Listener, channels []pubsub.Channel) {
	for _, channel := range channels {
		if !w.hub.Subscribed(channel) {
			return
		}
	}
	bounded, cancel := context.WithTimeout(ctx, w.SendTimeout())
	defer cancel()
	_ = r.open(bounded, w.hub, channels) // else the wait will
}

// after continues after a look. The error of a wait that ctx ends says whether the server was reached.
func (w *watch) after(ctx context.Context, left time.Duration, err error) error {
	if w.outage = w.Outage; w.outage == nil {
		w.outage = new(send.Outage)
	}
	if err = w.goOn(ctx, left, err); err != nil && ctx.Err() != nil {
		err = w.deaf.Because(w.on.Sender, w.outage.Because(w.on.Sender, err))
	}
	return err
}

func (w *watch) goOn(ctx context.Context, left time.Duration, err error) error {
	for {
		if err == nil {
			w.outage.Refused(w.on.Sender)
		} else if err := w.bear(ctx, w.outage, err); err != nil {
			return err
		}
		switch {
		case !w.listener.Listens():
			err = w.listen(ctx)
		case err == nil:
			err = w.on.Sleep(ctx, w.on.Nap(left), w.listener.pokes())
		default:
			err = nil // what failed is asked again behind the pause that bear made
		}
		if err != nil {
			return err
		}
		w.listener.Drain()
		var done bool
		if left, done, err = w.Look(ctx); done {
			w.outage.Answered()
			return nil
		}
	}
}

// listen subscribes. What does not come about for a passing reason is tried
// again at the next turn of the loop.
func (w *watch) listen(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, w.on.SendTimeout())
	defer cancel()
	err := w.listener.open(bounded, w.on.hub, w.Channels)
	if err == nil {
		w.deaf.Answered()
		return nil
	}
	if over := w.on.Over(ctx); over != nil {
		return over
	}
	return w.bear(ctx, &w.deaf, err)
}

func (w *watch) bear(ctx context.Context, o *send.Outage, err error) error {
	return w.on.Bear(ctx, o, w.Key.Shown(), w.listener.pokes(), err)
}
