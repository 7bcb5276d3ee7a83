package topic

import (
	"slices"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/engine"
)

// dock is the connections to one server that readers block on. There are some at
// most; where more readers want one, they take turns in the order in which they
// came.
type dock struct {
	node string
	most int

	mu      sync.Mutex
	aboard  []*reader // have a connection, or open one
	waiting []*reader
}

// place is what a reader knows of its turn.
type place struct {
	dock *dock                 // at which it is aboard, or waits; nil: neither
	come chan *engine.Blocking // with one place: its turn, with a connection, or nil to open one

	// Guarded by the mutex of the dock.
	long bool // aboard, and takes its time
}

// dock is that of a server.
func (h *reliables) dock(node string) *dock {
	h.mu.Lock()
	defer h.mu.Unlock()
	d := h.docks[node]
	if d == nil {
		d = &dock{node: node, most: h.e.BlockedAtMost()}
		h.docks[node] = d
	}
	return d
}

// join lines a reader up.
func (d *dock) join(r *reader) {
	d.mu.Lock()
	r.place.dock = d
	if len(d.aboard) < d.most {
		d.aboard = append(d.aboard, r)
		r.place.come <- nil
		d.mu.Unlock()
		return
	}
	d.waiting = append(d.waiting, r)
	slow := d.slow()
	d.mu.Unlock()
	if slow != nil {
		slow.poke()
	}
}

// slow is one aboard that takes its time, and is to hurry now.
func (d *dock) slow() *reader {
	for _, r := range d.aboard {
		if r.place.long {
			r.place.long = false
			return r
		}
	}
	return nil
}

// crowded reports whether others wait; if not, r takes its time.
func (d *dock) crowded(r *reader) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	r.place.long = len(d.waiting) == 0
	return !r.place.long
}

// pass ends the turn of a reader: the next has it, with the connection unless that
// is nil. Without a next one the reader stays aboard, unless it is to leave. It is
// false if nobody took the connection.
func (d *dock) pass(r *reader, conn *engine.Blocking, leave bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := len(d.waiting) > 0
	if !next && !leave {
		r.place.long = true
		return false
	}
	d.aboard = slices.DeleteFunc(d.aboard, func(o *reader) bool { return o == r })
	r.place.dock = nil
	if next {
		first := d.waiting[0]
		d.waiting = d.waiting[1:]
		d.aboard, first.place.long = append(d.aboard, first), false // it is not slow before it has blocked
		first.place.come <- conn
	}
	return next
}

// quit has a reader that waits go away. It is false if its turn has come.
func (d *dock) quit(r *reader) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := slices.Index(d.waiting, r)
	if at < 0 {
		return false
	}
	d.waiting = slices.Delete(d.waiting, at, at+1)
	r.place.dock = nil
	return true
}

// board is true once the reader has a connection. It waits for its turn for a
// moment at most, since there is more to do than to read.
func (r *reader) board(key string) (bool, error) {
	if r.open {
		return true, nil
	}
	if r.place.dock == nil {
		r.h.dock(r.h.e.Node(key)).join(r)
	}
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case conn := <-r.place.come:
		return r.launch(key, conn)
	case <-timer.C:
	case <-r.h.e.Closing():
	}
	return false, nil
}

// launch begins a turn. Who waited for a server that has meanwhile lost the slot
// lines up at another.
func (r *reader) launch(key string, conn *engine.Blocking) (bool, error) {
	if conn == nil && r.place.dock.node != r.h.e.Node(key) {
		r.place.dock.pass(r, nil, true)
		return false, nil
	}
	if conn == nil {
		fresh, err := r.connect(key)
		if err != nil {
			r.place.dock.pass(r, nil, true)
			return false, err
		}
		conn = &fresh
	}
	r.mu.Lock()
	r.conn, r.open = *conn, true
	r.mu.Unlock()
	return true, nil
}

// yield lets the next have the connection, if there is one who waits.
func (r *reader) yield() {
	if conn := r.conn; r.open && r.place.dock.pass(r, &conn, false) {
		r.open = false
	}
}

// hangUp ends the turn for good, or the wait for it. What is broken nobody else
// gets.
func (r *reader) hangUp(broken bool) {
	d := r.place.dock
	if d == nil || !r.open && d.quit(r) {
		return
	}
	last := r.conn
	conn := &last
	if !r.open { // its turn has just come
		conn = <-r.place.come
	}
	r.open = false
	if broken || conn == nil {
		d.pass(r, nil, true)
	} else if d.pass(r, conn, true) {
		return
	}
	if conn != nil {
		conn.Close()
	}
}
