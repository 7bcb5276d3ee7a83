package reliable

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// label is how observers know what is leased.
const label = "reliable queue"

// renewal is how the leases of messages are lengthened.
var renewal = &engine.Renewal{
	Script: extendScript,
	Add: func(on, args []string, key engine.Key, member string, lease time.Duration) (k, a []string) {
		return append(on, keys.ReliableLeases(key.Name)), append(args, member, decimal(engine.Millis(lease)))
	},
}

// Key is the kind and the mapped name, for the engine.
func (c *consumer) Key() engine.Key { return engine.Key{Kind: label, Name: c.of.key} }

// Renewal is how leases are lengthened, for the engine.
func (c *consumer) Renewal() *engine.Renewal { return renewal }

// release takes a message from an attempt, which then counts as one that ran out.
var release = scripts.NewCommand("ZREM", scripts.Safe)

// GiveBack is of the engine's interface: a message goes back by an exchange.
func (c *consumer) GiveBack(ctx context.Context, member string) (engine.Released, error) {
	_, err := c.h.e.Run(ctx, release, []string{c.of.lease}, []string{member})
	return engine.Released{}, err
}

// delivery is a message that this process has.
type delivery struct {
	c       *consumer
	id      int64
	attempt int
	member  string // of the leases
	body    string
	grant   *engine.Grant
	taken   time.Time // for observers
	begun   bool      // the server knows that its handler may be at it
	watched *watched

	mu       sync.Mutex
	settled  bool
	cause    error // why it ended without our doing, or is settled
	contexts []*messageContext
	timer    *time.Timer // of its timeout
	backoff  func(attempt int) time.Duration
}

// memberOf is the message and the attempt that a member of the leases stands for: id:attempt,
// or id for the first one.
func memberOf(text string) (id int64, attempt int, err error) {
	first, rest, more := strings.Cut(text, ":")
	attempt = 1
	if more {
		attempt, err = strconv.Atoi(rest)
	}
	if err == nil {
		id, err = strconv.ParseInt(first, 10, 64)
	}
	return id, attempt, err
}

// delivered puts what was taken by an exchange that started then under the watchdog's
// care.
func (c *consumer) delivered(id int64, attempt int, member, body string, f *flight, now time.Time) *delivery {
	d := &delivery{c: c, id: id, attempt: attempt, member: member, body: body, taken: now, begun: f.direct || attempt == 1}
	lease := c.policy.lease
	d.grant = c.h.e.NewGrant(c, d.member, f.started, lease, lease/3, watchdog.Instant{}, d)
	if c.h.hands.put(d); d.ended() != nil {
		c.h.hands.drop(d)
	}
	return d
}

// Err is nil while the message is this process's for sure.
func (d *delivery) Err() error {
	if err := d.ended(); err != nil {
		return err
	}
	if err := d.grant.Err(); err != nil {
		return err
	}
	return d.ended() // closed, perhaps
}

func (d *delivery) ended() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cause
}

// Ended is the engine's word that the message may be another's, or that the client
// closes.
func (d *delivery) Ended(cause error) {
	d.end(cause, false)
	if !errors.Is(cause, ErrClosed) {
		d.c.h.hands.drop(d)
	}
}

// end tells the contexts. It is false for one that was settled before.
func (d *delivery) end(cause error, settles bool) bool {
	d.mu.Lock()
	if settles && d.settled {
		d.mu.Unlock()
		return false
	}
	d.settled = d.settled || settles
	if d.cause == nil || settles && errors.Is(d.cause, ErrClosed) {
		d.cause = cause
	}
	contexts, timer := d.contexts, d.timer
	d.contexts = nil
	d.mu.Unlock()
	if settles {
		d.c.h.hands.drop(d)
	}
	if timer != nil && settles {
		timer.Stop()
	}
	for _, c := range contexts {
		c.cancel(cause)
	}
	return true
}

// settling ends the message for those who work with it. The watchdog keeps it until
// the server has answered, so that nobody else gets it meanwhile. It is an error if
// that was done before.
func (d *delivery) settling(s *settle, cause error) error {
	s.d, s.until = d, d.grant.Deadline()
	if !d.end(cause, true) {
		return d.ended()
	}
	return nil
}

// Leaving is true of a message that is settled, for the engine.
func (d *delivery) Leaving() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.settled
}

// settle says s to the server, and waits for its answer.
func (d *delivery) settle(ctx context.Context, s *settle) error {
	if ctx == nil {
		return errNilContext
	}
	if err := d.settling(s, ErrSettled); err != nil {
		return err
	}
	h, got := d.c.h, answer{}
	err := error(ErrClosed)
	h.e.During(func() { got, err = h.steps.Do(context.Background(), d.c.key, ask{settle: s}) })
	if err != nil { // it was not even sent
		s.resolve(err)
	} else {
		err = got.err
	}
	if err == nil && h.e.Observer != nil {
		h.e.Observer.Released(context.WithoutCancel(ctx), label, d.c.of.key, false)
	}
	return err
}

// begin tells the server that the handler is about to begin, before it does: should the
// process die of it, the attempt counts, and those of messages that wait beside it do
// not. It is false if the message was lost meanwhile.
func (d *delivery) begin(ctx context.Context) bool {
	if d.begun {
		return true
	}
	ctx = d.under(ctx)
	said := make(chan error, 1)
	s := &settle{d: d, nack: true, delay: begins, until: d.grant.Deadline(), done: func(err error) { said <- err }}
	if !d.c.h.steps.Post(d.c.key, ask{settle: s}) {
		return false
	}
	select {
	case err := <-said:
		return err == nil
	case <-ctx.Done():
		return false
	}
}

// post says s to the server, and does not wait.
func (d *delivery) post(s *settle, cause error) {
	if err := d.settling(s, cause); err != nil {
		if s.done != nil {
			s.done(err)
		}
		return
	}
	if !d.c.h.steps.Post(d.c.key, ask{settle: s}) {
		s.resolve(ErrClosed)
	}
}
