package rmap

import "time"

// mostAbsent is how many keys a handle remembers of which there is nothing.
const mostAbsent = 10_000

// absences are keys that the loader found nothing for, and until when that counts.
type absences[K comparable] struct {
	until  map[K]time.Duration
	writes uint64 // so often something was written: what was found before may be over
}

func (a *absences[K]) has(k K, now time.Duration) bool {
	until, there := a.until[k]
	if there && now >= until {
		delete(a.until, k)
		return false
	}
	return there
}

// add remembers k, unless something was written since writes was read.
func (a *absences[K]) add(k K, now, until time.Duration, writes uint64) {
	if writes != a.writes {
		return
	}
	if a.until == nil {
		a.until = make(map[K]time.Duration)
	}
	if len(a.until) >= mostAbsent {
		a.shrink(now)
	}
	a.until[k] = until
}

// shrink drops what is over, and some of the others, whichever come first.
func (a *absences[K]) shrink(now time.Duration) {
	n := 0
	for k, until := range a.until {
		if now >= until || n < mostAbsent/10 {
			delete(a.until, k)
			n++
		}
	}
}

func (a *absences[K]) forget(ks []K) {
	a.writes++
	for _, k := range ks {
		delete(a.until, k)
	}
}

func (a *absences[K]) clear() {
	a.writes++
	a.until = nil
}

// written notes entries that may have been written by this handle.
func (l *Loading[K, V]) written(ks ...K) {
	if l.cfg.absentFor > 0 {
		l.mu.Lock()
		l.none.forget(ks)
		l.mu.Unlock()
	}
}

func (l *Loading[K, V]) forgetAll() {
	l.mu.Lock()
	l.none.clear()
	l.mu.Unlock()
}

func (l *Loading[K, V]) absent(k K) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.none.has(k, l.now())
}

func (l *Loading[K, V]) now() time.Duration { return l.h.h.e.Mono() }
