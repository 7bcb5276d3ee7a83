package poller

import "time"

// end has the command under way end. The mutex is held.
func (w *worker) end() {
	if !w.blocks {
		return
	}
	w.over = w.number
	select {
	case w.ends <- struct{}{}:
	default:
	}
}

// endAll ends commands that are to end, and when the client closes the last.
func (w *worker) endAll(done <-chan struct{}) {
	for {
		select {
		case <-w.ends:
			w.endOne(done)
		case <-w.p.server.Closing():
			w.endLast(done)
			return
		case <-done:
			return
		}
	}
}

// Between the times at which it is said that a command is to end.
const (
	firstAgain = 200 * time.Microsecond
	mostAgain  = 20 * time.Millisecond
)

// endOne says that a command is to end until it has, or the server knows it.
func (w *worker) endOne(done <-chan struct{}) {
	for again := firstAgain; ; again = min(2*again, mostAgain) {
		conn := w.toEnd()
		if conn == nil {
			return
		}
		if ended, _ := conn.Unblock(); ended {
			return
		}
		if !waits(again, done) {
			return
		}
	}
}

// toEnd returns the connection whose command is to end.
func (w *worker) toEnd() Conn {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	if !w.blocks || w.over != w.number || w.conn == nil || w.conn.Deaf() {
		return nil
	}
	return w.conn
}

// endLast gives the last command time to answer, and then closes its connection.
func (w *worker) endLast(done <-chan struct{}) {
	timer := time.AfterFunc(w.p.Grace, w.breakOff)
	defer timer.Stop()
	for {
		w.p.mu.Lock()
		w.over = w.number
		w.p.mu.Unlock()
		w.endOne(done)
		if !waits(mostAgain, done) {
			return
		}
	}
}

// breakOff closes the connection under a command that does not answer.
func (w *worker) breakOff() {
	w.p.mu.Lock()
	conn := w.conn
	w.p.mu.Unlock()
	if conn != nil {
		conn.Close()
	}
}

// waits sleeps, and is false if done came first.
func waits(d time.Duration, done <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-done:
		return false
	}
}
