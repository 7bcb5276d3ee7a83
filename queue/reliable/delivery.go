package reliable

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// label is how observers know what is leased.
const label = "reliable queue"

// renewal is how the leases of messages are lengthened.
var renewal = &lease.Renewal{
	Script: extendScript,
	Add: func(on, args []string, key core.Key, member string, lease time.Duration) (k, a []string) {
		return append(on, keys.ReliableLeases(key.Name)), append(args, member, decimal(core.Millis(lease)))
	},
}

// Key returns the kind and the mapped name, for the engine.
func (c *consumer) Key() core.Key { return core.Key{Kind: label, Name: c.of.key} }

// Renewal returns how leases are lengthened, for the engine.
func (c *consumer) Renewal() *lease.Renewal { return renewal }

// release takes a message from an attempt, which then counts as one that ran out.
var release = scripts.NewCommand("ZREM", scripts.Safe)

// GiveBack is of the engine's interface: a message goes back by an exchange.
func (c *consumer) GiveBack(ctx context.Context, member string) (lease.Released, error) {
	_, err := c.h.e.Run(ctx, release, []string{c.of.lease}, []string{member})
	return lease.Released{}, err
}

// delivery is a message that this process has.
type delivery struct {
	c       *consumer
	id      int64
	attempt int
	number  int64  // of this delivery, which no other of the queue has
	member  string // of the leases: id:attempt:number:client
	body    string
	size    int // of the body, which goes when the value has it; 0: of what a token names
	grant   *lease.Grant
	taken   time.Time     // for observers
	timeout time.Duration // of an attempt; 0: none
	begun   bool          // the server knows that its handler may be at it
	watched *watched

	mu       sync.Mutex
	settled  bool
	cause    error // why it ended without our doing, or is settled
	contexts []*messageContext
	timer    *time.Timer   // of its timeout
	answered bool          // the server has said what became of it
	buried   bool          // that was its end
	awaited  chan struct{} // closed when it is answered; nil: nobody waits for that
}

// delivered puts a message that a flight took under the watchdog's care. of is its id, or id:attempt from the second attempt
// on, and delivered is the rest of its member of lease: ":delivery:client".
func (c *consumer) delivered(of, delivered, body string, f *flight, now time.Time) (*delivery, error) {
	id, attempt, later := strings.Cut(of, ":")
	if !later {
		attempt = "1"
	}
	number, _, _ := strings.Cut(strings.TrimPrefix(delivered, ":"), ":")
	d := &delivery{c: c, member: id + ":" + attempt + delivered, body: body, size: len(body), taken: now, begun: f.direct || attempt == "1"}
	var errs [3]error
	d.id, errs[0] = strconv.ParseInt(id, 10, 64)
	d.attempt, errs[1] = strconv.Atoi(attempt)
	d.number, errs[2] = strconv.ParseInt(number, 10, 64)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	lease := f.lease
	d.grant = c.h.e.NewGrant(c, d.member, f.started, lease, lease/3, watchdog.Instant{}, d)
	if c.h.hands.put(d); d.ended() != nil {
		c.h.hands.drop(d)
	}
	return d, nil
}

// Err returns nil while the message is this process's for sure.
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

// Ended handles the engine's word that the message may be another's, or that the client
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

// Leaving reports to the engine whether the message is settled.
func (d *delivery) Leaving() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.settled
}

// settle says s to the server, and waits for its answer.
func (d *delivery) settle(ctx context.Context, s *settle) error {
	if err := object.CheckContext(ctx); err != nil {
		return err
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

// pauseNotice is how long a consumer believes that its queue is not paused.
const pauseNotice = 500 * time.Millisecond

// begin tells the server that the handler is about to begin, before it does. If the
// process then dies, its attempt counts, and those of messages that wait in the process do not.
// For a message that has waited here begin asks whether the queue is paused, unless the server
// has just said that it is not. It returns false if the message was lost meanwhile, or must not
// begin.
func (d *delivery) begin(ctx context.Context, waited bool) bool {
	at := d.c.flowed.Load()
	if d.begun && (!waited || at > 0 && time.Since(d.c.h.began)-time.Duration(at) < pauseNotice) {
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

// over notes that the server has answered the last that was said of the message.
func (d *delivery) over(buried bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.answered {
		return
	}
	d.answered, d.buried = true, buried
	if d.awaited != nil {
		close(d.awaited)
	}
}

// outcome waits for that, and returns whether the message was buried.
func (d *delivery) outcome(ctx context.Context) (buried bool, err error) {
	d.mu.Lock()
	if d.answered {
		defer d.mu.Unlock()
		return d.buried, nil
	}
	if d.awaited == nil {
		d.awaited = make(chan struct{})
	}
	awaited := d.awaited
	d.mu.Unlock()
	select {
	case <-awaited:
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.buried, nil
	case <-ctx.Done():
		return false, core.ContextError(ctx)
	}
}

// messageContext ends with its message. Its Err compares the clocks at each call.
type messageContext struct {
	context.Context // of the context package, so that deriving from it costs no goroutine
	cancel          context.CancelCauseFunc
	d               *delivery
}

// Err looks at the clocks before it says that all is well.
func (c *messageContext) Err() error {
	if c.Context.Err() == nil {
		if cause := c.d.Err(); cause != nil {
			c.cancel(cause)
		}
	}
	return c.Context.Err()
}

// manyContexts is from when on those are looked for that have ended by themselves.
const manyContexts = 32

// under returns that of a message which has just been looked at.
func (d *delivery) under(parent context.Context) context.Context {
	c := &messageContext{d: d}
	c.Context, c.cancel = context.WithCancelCause(parent)
	d.mu.Lock()
	cause := d.cause
	if cause == nil {
		if len(d.contexts) >= manyContexts && len(d.contexts)&(len(d.contexts)-1) == 0 {
			d.contexts = slices.DeleteFunc(d.contexts, func(c *messageContext) bool { return c.Context.Err() != nil })
		}
		d.contexts = append(d.contexts, c)
	}
	d.mu.Unlock()
	if cause != nil {
		c.cancel(cause)
	}
	return c
}

// starts begins the time of an attempt that is bounded.
func (d *delivery) starts() {
	if d.timeout == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cause == nil {
		d.timer = time.AfterFunc(d.timeout, func() { d.post(retriedBy(ErrTimeout), ErrTimeout) })
	}
}

// hands is the messages that a client has, so that one that was cancelled is found.
type hands struct {
	mu  sync.Mutex
	all map[hand]*delivery
}

// hand is a message: the queue, and what its leases have.
type hand struct{ key, member string }

func (d *delivery) hand() hand { return hand{d.c.of.key, d.member} }

func (h *hands) put(d *delivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all == nil {
		h.all = make(map[hand]*delivery)
	}
	h.all[d.hand()] = d
}

func (h *hands) drop(d *delivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if k := d.hand(); h.all[k] == d {
		delete(h.all, k)
	}
}

// taken handles the notification that messages were cancelled; a renewal says so, too, but later.
func (c *consumer) taken(ev pubsub.Event) {
	if ev.Kind != pubsub.Message {
		return
	}
	h := &c.h.hands
	h.mu.Lock()
	d := h.all[hand{c.of.key, ev.Payload}]
	h.mu.Unlock()
	if d != nil {
		d.Ended(ErrCancelled)
		d.grant.Finish(core.ErrLost)
	}
}
