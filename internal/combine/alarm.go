package combine

import "time"

// The runtime's timers may be a millisecond late. Below finest nobody waits for
// longer than for a landing, and above coarse it does not matter.
const (
	finest = 2 * leastGap
	coarse = 2 * time.Millisecond
)

// alarm is what wakes a line on which calls wait for a further departure: a timer,
// or where that is too coarse a goroutine that sleeps.
type alarm struct {
	set bool
	due time.Duration

	timer   *time.Timer
	timed   bool // by the timer
	stray   bool // a call of the timer may still be on its way
	watched bool // by the goroutine, which sleeps out its time
}

// quiet reports whether nothing will come from the alarm any more.
func (a *alarm) quiet() bool { return !a.stray && !a.watched }

// wake sets the alarm, unless it is set.
func (l *line[K, Q, A]) wake(due, wait time.Duration) {
	if l.alarm.set {
		return
	}
	l.alarm.set, l.alarm.due = true, due
	if l.alarm.watched {
		return
	}
	// The runtime's timers are too coarse for a short wait.
	fine := wait < coarse && time.Duration(l.table.trip.Load()) >= finest
	if l.alarm.watched = fine && l.table.cfg.Spawn(l.watch); l.alarm.watched {
		return
	}
	l.alarm.timed = true
	if l.alarm.timer == nil {
		l.alarm.timer = time.AfterFunc(wait, l.rung)
		return
	}
	l.alarm.timer.Reset(wait)
}

// hush stops the alarm. The goroutine finds that out when it has slept.
func (l *line[K, Q, A]) hush() {
	l.alarm.set = false
	if l.alarm.timed {
		l.alarm.timed = false
		l.alarm.stray = !l.alarm.timer.Stop() || l.alarm.stray
	}
}

// rung handles the timer's call. One that was stopped too late finds that the timer is
// not set, or not due yet.
func (l *line[K, Q, A]) rung() {
	l.shard.mu.Lock()
	launch := l.alarm.timed && l.table.now() >= l.alarm.due
	if launch {
		l.alarm.timed = false
		launch = l.ring()
	}
	l.shard.mu.Unlock()
	if launch {
		l.launch(nil)
	}
}

// watch sleeps until the alarm is due, and makes the flight itself.
func (l *line[K, Q, A]) watch() {
	l.shard.mu.Lock()
	for l.alarm.set {
		wait := l.alarm.due - l.table.now()
		if wait <= 0 {
			break
		}
		l.shard.mu.Unlock()
		sleep(wait)
		l.shard.mu.Lock()
	}
	l.alarm.watched = false
	fly := l.alarm.set && l.ring()
	l.shard.mu.Unlock()
	if fly {
		l.run()
	}
}

// ring reports whether a flight is to leave, which is counted then. Where there
// are as many as there may be, the next landing takes those who wait.
func (l *line[K, Q, A]) ring() bool {
	l.alarm.set = false
	return l.flying < l.table.cfg.Flights && l.depart()
}
