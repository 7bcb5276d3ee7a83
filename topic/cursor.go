package topic

import (
	"cmp"
	"context"
	"strings"
	"time"
)

// silentEvery is how often a topic is read where nothing says that there are messages, and
// silentFor how long, until the server is asked for that again.
const (
	silentEvery = 50 * time.Millisecond
	silentFor   = 10 * time.Second
)

// listen has f visited when its topic has a message after those that it was given. If the server
// refuses that, f is read every now and then.
func (f *feed) listen() error {
	f.mu.Lock()
	waits := f.stop != nil || time.Now().Before(f.silent)
	f.mu.Unlock()
	if waits {
		return nil
	}
	h := f.h
	last, err := h.e.LastDelivered(context.Background(), f.of.key, f.group)
	if err != nil && (!refusal(err) || !strings.Contains(err.Error(), "no such key")) {
		return err // a group or stream that is gone is found so when it is read
	}
	last = cmp.Or(last, "0-0")
	if h.cursors.Enter(f.of.key, last) {
		h.poller.Tell(h.cursors.Kind, f.of.key)
	}
	place := h.poller.Join(h.cursors.Kind, f.of.key)
	ctx, stop := context.WithCancel(context.Background())
	f.mu.Lock()
	f.stop = stop
	f.mu.Unlock()
	wait := func() {
		got, ended := h.poller.Await(ctx, place)
		h.cursors.Leave(f.of.key)
		stop()
		f.mu.Lock()
		if f.stop = nil; !ended && got.Err != nil {
			f.silent = time.Now().Add(silentFor)
		}
		f.mu.Unlock()
		h.wake(f)
	}
	if !h.e.Spawn(wait) { // ends with ctx, or the client
		stop()
		wait()
	}
	return nil
}

// deafen ends the wait of a feed.
func (f *feed) deafen() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stop != nil {
		f.stop()
	}
	f.watched.Store(nil)
}
