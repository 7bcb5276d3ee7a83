package combine

import "runtime"

// mostRounds is how many flights a goroutine makes before it asks Spawn for the
// next one, so that a line that never idles ends when the owner closes.
const mostRounds = 64

// alone returns the flight of a caller that found its line idle, on its own goroutine.
func (l *line[K, Q, A]) alone(flight int, c *Call[Q, A]) (A, error) {
	defer l.pass(flight) // also on a panic, which is the caller's
	l.solo[0] = c
	c.err = l.table.timed(l.key, flight, l.solo[:])
	l.solo[0] = nil
	return l.table.answer(c)
}

// launch lets a flight that is counted already take off on a goroutine of its
// own. It reports false if the owner is closed, and own has come to nothing by it.
func (l *line[K, Q, A]) launch(own *Call[Q, A]) bool {
	return l.table.cfg.Spawn(l.fly) || l.refuse(own)
}

// run flies for as long as somebody waits.
func (l *line[K, Q, A]) run() {
	flying, flight := true, unnumbered
	defer func() {
		if flying { // on a panic
			l.pass(flight)
		}
	}()
	flight, batch, more := l.board()
	for round := 1; more; round++ {
		crowd := len(batch) > 1
		l.table.exchange(l.key, flight, batch)
		if crowd {
			runtime.Gosched()
		}
		if round == mostRounds {
			break
		}
		batch, more = l.land(flight, batch)
	}
	flying = false
	if more {
		l.pass(flight)
	}
}

// board takes the number and the first batch of a flight that is counted already.
func (l *line[K, Q, A]) board() (flight int, batch []*Call[Q, A], more bool) {
	l.shard.mu.Lock()
	defer l.shard.mu.Unlock() // of the shard that it is in now, as in pass
	if l.waiting() == 0 {     // another flight took them, or they left
		l.descend()
		return unnumbered, nil, false
	}
	batch, l.spare = l.spare, nil
	batch = l.take(batch)
	return l.number(), batch, true
}

// land ends a flight, and takes the next batch if it may leave now.
func (l *line[K, Q, A]) land(flight int, batch []*Call[Q, A]) (next []*Call[Q, A], more bool) {
	l.shard.mu.Lock()
	defer l.shard.mu.Unlock()
	l.spare = batch[:0]
	l.unnumber(flight)
	if !l.again() {
		return nil, false
	}
	l.numbers |= 1 << flight // its own again
	l.spare = nil
	return l.take(batch), true
}

// pass ends a flight, and lets another goroutine make the next one.
func (l *line[K, Q, A]) pass(flight int) {
	mu := &l.shard.mu // the line may be another key's, in another shard, once it is closed
	mu.Lock()
	l.unnumber(flight)
	again := l.again()
	mu.Unlock()
	if again {
		l.launch(nil)
	}
}

// again turns a flight that has landed into the next departure, if somebody
// waits, and if it would be the only flight or its time has come.
func (l *line[K, Q, A]) again() bool {
	if l.waiting() == 0 {
		l.descend()
		return false
	}
	if l.flying > 1 {
		l.flying--
		return l.depart()
	}
	l.last = l.table.now()
	return true
}

// descend uncounts a flight. Nobody waits, or others are under way.
func (l *line[K, Q, A]) descend() {
	l.flying--
	if l.flying == 0 {
		l.close()
	}
}

// refuse ends a flight that no goroutine makes, since the owner is closed.
// Whoever waits gets its error, except what was posted: that goes with the flights
// that are under way, or is sent here. It reports false if own was not sent.
func (l *line[K, Q, A]) refuse(own *Call[Q, A]) (sent bool) {
	t, key, mu := l.table, l.key, &l.shard.mu // as in pass
	mu.Lock()
	sent = own == nil || !own.queued
	if !sent {
		l.remove(own)
	}
	refused, posts := l.clear()
	if l.flying > 1 {
		for _, c := range posts {
			l.add(c)
		}
		posts = nil
	}
	l.descend()
	mu.Unlock()
	t.settle(key, refused, t.cfg.Closed)
	t.ship(key, posts)
	return sent
}

// clear empties the queue.
func (l *line[K, Q, A]) clear() (callers, posts []*Call[Q, A]) {
	for _, c := range l.queue {
		switch {
		case c == nil:
			continue
		case c.manner == posted:
			posts = append(posts, c)
		default:
			callers = append(callers, c)
		}
		c.queued = false
	}
	l.empty()
	l.hush()
	return callers, posts
}

// ship sends posts that no flight of a line will take. Flights of another line
// about the key may be under way meanwhile.
func (t *Table[K, Q, A]) ship(key K, posts []*Call[Q, A]) {
	if len(posts) == 0 {
		return
	}
	flight := t.cfg.Flights + int(t.shipped.Add(1)) - 1
	for len(posts) > 0 {
		n := t.cut(posts)
		t.exchange(key, flight, posts[:n:n])
		posts = posts[n:]
	}
}

// exchange sends batch, and tells everyone in it.
func (t *Table[K, Q, A]) exchange(key K, flight int, batch []*Call[Q, A]) {
	returned := false
	defer func() {
		if !returned { // on a panic
			t.settle(key, batch, ErrAborted)
		}
	}()
	err := t.timed(key, flight, batch)
	returned = true
	t.settle(key, batch, err)
}

// timed is Send, and how long it took, where that is of use.
func (t *Table[K, Q, A]) timed(key K, flight int, batch []*Call[Q, A]) error {
	if t.cfg.Sent != nil {
		t.cfg.Sent(len(batch))
	}
	if t.cfg.Flights == 1 {
		return t.cfg.Send(key, flight, batch)
	}
	start := t.now()
	err := t.cfg.Send(key, flight, batch)
	t.measure(t.now() - start)
	return err
}

// settle tells the callers of batch, gives back what those left that have gone,
// and leaves batch empty.
func (t *Table[K, Q, A]) settle(key K, batch []*Call[Q, A], err error) {
	left := batch[:0]
	for _, c := range batch {
		switch {
		case c.manner == posted:
			t.free(c)
		case !c.settle(err):
			left = append(left, c)
		}
	}
	for _, c := range left {
		if err == nil && t.cfg.Left != nil {
			t.cfg.Left(key, c.Ask, c.Answer)
		}
		t.free(c)
	}
	clear(batch)
}
