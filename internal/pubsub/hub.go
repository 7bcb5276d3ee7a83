package pubsub

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrClosed is returned by Subscribe once the Hub is closed.
var ErrClosed = errors.New("pubsub: hub is closed")

// Hub shares subscriptions among any number of listeners. It is safe for concurrent use.
type Hub struct {
	src     Source
	opts    Options
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	workers sync.WaitGroup

	// mu guards everything below, the channels and seats, and the marked part of the nodes. Nothing is
	// called under it that could block: no Source, no Conn, no listener.
	mu       sync.RWMutex
	channels map[Channel]*channel
	nodes    map[Line]*node
	trouble  map[Line]error // why the line did not come about, until it does
	closed   bool
	beat     time.Duration         // between the checks of lines with a vigil; 0: there is none
	beats    map[time.Duration]int // what vigils ask for, and how many of them
}

// New returns a hub that subscribes through src. It starts nothing until the first Subscribe.
func New(src Source, opts Options) *Hub {
	h := &Hub{
		src:      src,
		opts:     opts.withDefaults(),
		channels: make(map[Channel]*channel),
		nodes:    make(map[Line]*node),
		trouble:  make(map[Line]error),
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// Subscribe joins channel and returns once the server has confirmed the subscription: at once if it stands
// already. From then on listen misses no message, and is told Resumed after an interruption; it may be told
// of messages a little before Subscribe returns.
//
// Listen runs on the hub's goroutines, never twice at the same time. It must not block, which rules out
// Subscribe and Hub.Close; it may call Subscription.Close and Subscribed.
//
// The wait ends with ctx, with Close (ErrClosed), or with an error: the channel cannot be located, its node
// cannot be reached, or the server refuses the subscription. A channel that has moved is followed, and a
// connection that ends in between is replaced. An abandoned Subscribe leaves nothing behind beyond the linger.
func (h *Hub) Subscribe(ctx context.Context, channel Channel, listen func(Event)) (*Subscription, error) {
	return h.subscribe(ctx, channel, listen, 0)
}

func (h *Hub) subscribe(ctx context.Context, channel Channel, listen func(Event), every time.Duration) (*Subscription, error) {
	if ctx.Err() != nil {
		return nil, failure(channel, ended(ctx))
	}
	s, placed, err := h.join(channel, listen, every)
	if err == nil && !placed {
		err = h.locate(ctx, s.channel)
	}
	if err == nil {
		err = s.await(ctx)
	}
	if err == nil {
		return s, nil
	}
	if s != nil {
		s.Close()
	}
	if h.ctx.Err() != nil {
		err = ErrClosed // whatever else the closing made fail
	}
	return nil, failure(channel, err)
}

// Subscribed reports whether the server counts this process as a subscriber of channel, as far as is known
// here. A channel that lingers is subscribed.
func (h *Hub) Subscribed(channel Channel) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	c := h.channels[channel]
	return c != nil && c.stands()
}

// Listeners returns how many listen to channel here.
func (h *Hub) Listeners(channel Channel) int {
	h.mu.RLock()
	defer h.mu.RUnlock()
	c := h.channels[channel]
	if c == nil {
		return 0
	}
	return len(c.listeners)
}

// Close ends all subscriptions and waits for the hub's goroutines. Waiting Subscribes return ErrClosed;
// listeners are told nothing. A connection that is being dialed to a silent node is waited for briefly,
// then left to the client's dial timeout. Close is idempotent and must not be called by a listener.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	h.cancel() // with the lock held: who sees closed sees the context ended, too
	h.mu.Unlock()
	h.workers.Wait()
}

// join adds a listener; placed is false if its channel has no node yet.
func (h *Hub) join(of Channel, listen func(Event), every time.Duration) (s *Subscription, placed bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, false, ErrClosed
	}
	c := h.channels[of]
	if c == nil {
		c = &channel{Channel: of, hub: h}
		h.channels[of] = c
	}
	s = &Subscription{channel: c, listen: listen, every: every}
	if !c.stands() {
		s.ready = make(chan error, 1)
		s.pending = true
	}
	if c.add(s); every > 0 {
		h.pace(every, 1)
	}
	return s, c.seat != nil, nil
}

// locate gives the channel its first node. Every caller that finds it without one asks for itself, under its
// own context: nobody depends on the patience of another, and the first answer counts.
func (h *Hub) locate(ctx context.Context, c *channel) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.ctx, cancel)()
	where, err := h.src.Locate(ctx)
	if err != nil {
		return err
	}
	addr, err := where(c.Channel)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.seat == nil && !h.closed {
		s := h.take(c, addr)
		if s.had {
			c.resolve()
		}
		s.settle()
	}
	return nil
}

// take seats the channel on a node, whose worker it starts if there is none. The seat can be one that the
// channel left a moment ago and that still stands: nobody will confirm it then, so the caller has to look.
// The caller also settles it.
func (h *Hub) take(c *channel, addr string) *seat {
	line := c.line(addr)
	n := h.nodes[line]
	if n == nil {
		n = newNode(h, line)
		h.nodes[line] = n
		h.workers.Go(n.run) // ends when the node has no seat left, or with Close
	}
	s := n.seats[c.Channel]
	if s == nil {
		s = &seat{node: n, of: c.Channel}
		n.seats[c.Channel] = s
	}
	s.channel, c.seat = c, s
	return s
}

// message hands a message to the channel's listeners. It is on the path of every hand-over between processes:
// no goroutine in between, nothing allocated.
func (h *Hub) message(of Channel, name, payload string) {
	h.mu.RLock()
	c := h.channels[of]
	var listeners []*Subscription
	if c != nil && !h.closed {
		listeners = c.listeners
	}
	h.mu.RUnlock()
	switch {
	case len(listeners) > 0:
		c.tell(listeners, Event{Kind: Message, Payload: payload, Name: name})
	case c != nil:
		c.ignored()
	}
}

func failure(channel Channel, err error) error {
	return fmt.Errorf("pubsub: %ssubscribe %q: %w", channel.Kind.prefix(), channel.Name, err)
}

// ended returns the error of a context that has ended: both what ended it and why, where these differ.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}
