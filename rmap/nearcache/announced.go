package nearcache

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// announced hears what the writers of a map say.
type announced struct {
	h     *mapstore.Hub
	key   string
	o     *origin
	lanes *lanes

	arming sync.Mutex // of one arm at a time: a drop of all has another begin

	mu     sync.Mutex
	subs   []*pubsub.Subscription
	alive  []time.Time // of each of them
	news   chan struct{}
	mutes  map[string]time.Time // requests of transactions, until when
	closed bool
}

func (a *announced) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	for _, s := range a.subs {
		s.Close()
	}
}

// patience is how long the first word of a subscription is waited for.
const patience = time.Second

var (
	errUnheard  = errors.New("the subscription is not known to be alive")
	errDisabled = errors.New("a transaction has disabled it for the moment")
)

// arm implements origin.
func (a *announced) arm(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := a.listen(ctx); err != nil {
		return 0, err
	}
	if !a.o.alive(a.o.now()) {
		return 0, errUnheard // which changes by itself
	}
	if a.o.muted.Load() > a.o.now() {
		return 0, errDisabled
	}
	cached, caches := keys.NearDisabled(a.key)
	ms, err := send.Number(a.h.Engine.Run(ctx, mapstore.LookScript, []string{a.key, cached, caches}, nil))
	switch {
	case err != nil:
		return 0, err
	case ms == -3:
		return 0, errDisabled
	case ms < 0:
		return time.Duration(ms), nil
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// listen subscribes, the first time, and waits for a word: to both kinds of channel
// where there are two, since Redisson's transactions publish to plain ones only.
func (a *announced) listen(ctx context.Context) error {
	a.arming.Lock()
	defer a.arming.Unlock()
	a.mu.Lock()
	there, over := len(a.subs) > 0, a.closed
	a.mu.Unlock()
	switch {
	case over:
		return ErrClosed
	case there:
		return nil
	}
	kinds := []bool{false, true}
	if a.h.Engine.Publish() == "publish" {
		kinds = kinds[:1]
	}
	alive := make([]time.Time, len(kinds))
	a.mu.Lock()
	a.alive = alive
	a.mu.Unlock()
	var subs []*pubsub.Subscription
	for i, plain := range kinds {
		s, err := a.h.Engine.Vigil(ctx, keys.NearChannel(a.key), plain, max(a.o.silence/3, 20*time.Millisecond), func(ev pubsub.Event) { a.hear(i, ev) })
		if err != nil {
			for _, s := range subs {
				s.Close()
			}
			return fmt.Errorf("not told what is written: %w", err)
		}
		subs = append(subs, s)
	}
	a.mu.Lock()
	a.subs = subs
	closed := a.closed
	a.mu.Unlock()
	if closed {
		a.close()
		return ErrClosed
	}
	for !a.o.alive(a.o.now()) {
		select {
		case <-a.news:
		case <-ctx.Done():
			return errUnheard
		}
	}
	return nil
}

// hear handles a message, on the hub's goroutines.
func (a *announced) hear(i int, ev pubsub.Event) {
	switch ev.Kind {
	case pubsub.Alive:
		a.vouched(i, ev.At)
	case pubsub.Resumed:
		a.o.Dropped()
	case pubsub.Message:
		a.told(ev.Payload)
	}
}

// vouched takes in that all from before then was heard by one of the subscriptions.
func (a *announced) vouched(i int, at time.Time) {
	a.mu.Lock()
	if a.alive[i].Before(at) {
		a.alive[i] = at
	}
	first := slices.MinFunc(a.alive, time.Time.Compare)
	a.mu.Unlock()
	if first.IsZero() {
		return
	}
	a.o.Alive(first)
	select {
	case a.news <- struct{}{}:
	default:
	}
}

// told drops what has changed. What cannot be read may have said anything.
func (a *announced) told(text string) {
	m, err := parseMessage(text)
	switch {
	case err != nil:
		a.h.Engine.Logger.Debug("all copies dropped", "name", a.key, "err", err)
		a.o.Dropped()
	case m.kind == mapstore.MsgClear:
		a.o.Dropped()
		if m.release && m.sender != a.h.ID {
			a.release(hex.EncodeToString([]byte(m.request)))
		}
	case m.kind == mapstore.MsgDisable:
		a.disabled(m)
	case m.kind == mapstore.MsgEnable:
		a.drop(m) // again: what was read meanwhile may be either
		a.mute(func() { delete(a.mutes, m.request) })
	default:
		a.drop(m)
	}
}

func (a *announced) drop(m message) {
	if m.all {
		a.o.Dropped()
	}
	for _, hash := range m.hashes {
		a.lanes.drop(hash)
	}
}

// disabled drops what a transaction is about to write, keeps nothing new until it
// has, and says so.
func (a *announced) disabled(m message) {
	a.mute(func() { a.mutes[m.request] = time.Now().Add(m.timeout) })
	a.drop(m)
	if a.h.First("ack " + a.key + " " + m.request) {
		a.h.Engine.Spawn(func() {
			_, _ = a.h.Engine.Run(context.Background(), mapstore.Publish, nil, []string{keys.NearAck(a.key, m.request), string(mapstore.MsgAck)})
		})
	}
}

func (a *announced) mute(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
	var last time.Time
	for request, until := range a.mutes {
		if until.Before(time.Now()) {
			delete(a.mutes, request)
		} else if until.After(last) {
			last = until
		}
	}
	a.o.mute(max(int64(last.Sub(a.o.born)), 0))
}

// release tells the waiter of that request that all copies were dropped here.
func (a *announced) release(request string) {
	if !a.h.First("clear " + a.key + " " + request) {
		return
	}
	semaphore := keys.NearCleared(a.key, request)
	a.h.Engine.Spawn(func() {
		_, _ = a.h.Engine.Run(context.Background(), mapstore.ClearedScript, []string{semaphore}, []string{a.h.Engine.Publish(), keys.SemaphoreChannel(semaphore)})
	})
}
