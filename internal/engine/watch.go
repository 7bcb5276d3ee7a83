package engine

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"

	"github.com/rueidisson/rueidisson/internal/pubsub"
)

// longestSleep caps every sleep of a waiter, unless Config.LongestSleep says
// otherwise, since a message is a hint and may be lost. It is jittered, so that
// the waiters of a fleet spread.
const longestSleep = 5 * time.Second

// Watch is a wait for something that the server tells of on channels, and that
// one finds out by looking.
type Watch struct {
	// Key names what is waited for.
	Key Key
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
	Outage *Outage
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
func (e *Engine) Watch(ctx context.Context, w Watch) error {
	if e.Open() != nil || !e.begin() {
		return ErrClosed
	}
	defer e.tasks.Done()
	if ctx.Err() != nil {
		return ContextError(ctx)
	}
	if w.Since > 0 {
		if err := w.Outage.GivenUp(e, w.Since); err != nil {
			return err
		}
	}
	if w.By != nil {
		return (&watch{Watch: w, e: e, ear: w.By}).run(ctx)
	}
	watching := &watch{Watch: w, e: e, ear: NewListener(w.Heard, nil)}
	defer watching.ear.Close()
	return watching.run(ctx)
}

// WatchOn is Watch behind a first look that the caller has made already, when
// nobody listened, and what that said: who need not wait makes no Watch at all.
// It needs a By, and is called where Close waits for the caller.
func (e *Engine) WatchOn(ctx context.Context, w Watch, left time.Duration, err error) error {
	return (&watch{Watch: w, e: e, ear: w.By}).after(ctx, left, err)
}

// watch is a Watch under way.
type watch struct {
	Watch
	e      *Engine
	ear    *Listener
	outage *Outage // of the server
	deaf   Outage  // of the subscriptions
}

func (w *watch) run(ctx context.Context) error {
	if w.ear.Listens() {
		if w.Looked {
			return w.after(ctx, -1, nil)
		}
		w.ear.Hush()
	} else {
		w.e.ListenIfStanding(ctx, w.ear, w.Channels)
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
func (e *Engine) ListenIfStanding(ctx context.Context, r *Listener, channels []pubsub.Channel) {
	for _, channel := range channels {
		if !e.hub.Subscribed(channel) {
			return
		}
	}
	bounded, cancel := context.WithTimeout(ctx, e.sendTimeout())
	defer cancel()
	_ = r.Open(bounded, e.hub, channels) // else the wait will
}

// after goes on behind a look.
func (w *watch) after(ctx context.Context, left time.Duration, err error) error {
	if w.outage = w.Outage; w.outage == nil {
		w.outage = new(Outage)
	}
	for {
		if err == nil {
			w.outage.Refused(w.e)
		} else if err := w.bear(ctx, w.outage, err); err != nil {
			return err
		}
		switch {
		case !w.ear.Listens():
			err = w.listen(ctx)
		case err == nil:
			err = w.e.sleep(ctx, w.e.nap(left), w.ear.Pokes())
		default:
			err = nil // what failed is asked again behind the pause that bear made
		}
		if err != nil {
			return err
		}
		w.ear.Hush()
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
	bounded, cancel := context.WithTimeout(ctx, w.e.sendTimeout())
	defer cancel()
	err := w.ear.Open(bounded, w.e.hub, w.Channels)
	if err == nil {
		w.deaf.Answered()
		return nil
	}
	if over := w.e.over(ctx); over != nil {
		return over
	}
	return w.bear(ctx, &w.deaf, err)
}

func (w *watch) bear(ctx context.Context, o *Outage, err error) error {
	return w.e.bear(ctx, o, w.Key.Shown(), w.ear.Pokes(), err)
}

// nap returns how long to sleep when so much is left.
func (e *Engine) nap(left time.Duration) time.Duration {
	if most := cmp.Or(e.LongestSleep, longestSleep); left < 0 || left >= most {
		return jittered(most)
	}
	return left + time.Millisecond // the server expires at the next millisecond
}

// jittered returns d, up to a tenth less.
func jittered(d time.Duration) time.Duration { return d - rand.N(d/10+1) }

// sleep waits for d, a poke, or the end.
func (e *Engine) sleep(ctx context.Context, d time.Duration, poke <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-poke:
	case <-ctx.Done():
	case <-e.closing:
	}
	return e.over(ctx)
}

// over returns why a wait has ended, if it has.
func (e *Engine) over(ctx context.Context) error {
	if ctx.Err() != nil {
		return ContextError(ctx)
	}
	return e.Open()
}
