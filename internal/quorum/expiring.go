package quorum

import (
	"reflect"
)

// alarm is one early warning.
type alarm struct {
	rung chan struct{}
	look chan struct{} // gets a value when a part has come or gone
}

// Expiring returns a channel that is closed when so many parts warn that the rest is not enough.
// The first call starts a goroutine, which ends with the warning or the hold.
func (h *Held) Expiring() <-chan struct{} {
	quiet := h.quiet()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.alarm != nil && (!isClosed(h.alarm.rung) || quiet < h.Need) {
		return h.alarm.rung // it is still running, or has rung
	}
	h.alarm = &alarm{make(chan struct{}), make(chan struct{}, 1)}
	switch {
	case quiet < h.Need:
		close(h.alarm.rung)
	case h.cause == nil:
		if h.over == nil {
			h.over = make(chan struct{})
		}
		h.watch(h.alarm)
	}
	return h.alarm.rung
}

// quiet returns how many parts are trusted and do not warn.
func (h *Held) quiet() (n int) {
	for _, p := range h.Parts() {
		if p.Hold.Err() == nil && !isClosed(p.Hold.Expiring()) {
			n++
		}
	}
	return n
}

// watch starts a goroutine that awaits the alarm, of a client that is not closing. The caller holds
// the mutex.
func (h *Held) watch(a *alarm) {
	for _, p := range h.parts {
		if p.Engine.Open() == nil && p.Engine.Spawn(func() { h.await(a, p.Engine.Closing()) }) {
			return
		}
	}
}

// await rings when too few parts are quiet. If the goroutine's client closes, another client's
// goroutine continues.
func (h *Held) await(a *alarm, closing <-chan struct{}) {
	for h.quiet() >= h.Need {
		cases := []reflect.SelectCase{receive(h.over), receive(closing), receive(a.look)}
		for _, p := range h.Parts() {
			if ch := p.Hold.Expiring(); p.Hold.Err() == nil && !isClosed(ch) {
				cases = append(cases, receive(ch))
			}
		}
		switch chosen, _, _ := reflect.Select(cases); chosen {
		case 0:
			return
		case 1:
			h.mu.Lock()
			h.watch(a)
			h.mu.Unlock()
			return
		}
	}
	close(a.rung)
}

// LookAgain makes the alarm check again, if there is one.
func (h *Held) LookAgain() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.alarm == nil {
		return
	}
	select {
	case h.alarm.look <- struct{}{}:
	default:
	}
}

func receive(ch <-chan struct{}) reflect.SelectCase {
	return reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(ch)}
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
