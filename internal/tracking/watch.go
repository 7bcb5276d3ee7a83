package tracking

import (
	"cmp"
	"context"
	"time"
)

// Watch is one listener's part in a key, and in others beside it.
type Watch struct {
	t    *Tracker
	key  string
	keys []string // all of them, that one first
	to   Listener
	beat time.Duration // between the checks of its node

	// Guarded by Tracker.mu.
	at     *node // where it is armed, or to be
	closed bool
}

// Arm has the server tell when one of the keys changes, and says how long the first
// stays. If that is there, what is read of them from now on counts until Dropped is called, which
// may have been before Arm returns. It waits for a round trip; for a connection
// only if none was tried yet; for a silent one not again.
func (w *Watch) Arm(ctx context.Context) (left time.Duration, err error) {
	n, err := w.locate(ctx)
	if err != nil {
		return 0, err
	}
	conn, err := n.ready(ctx)
	if err != nil {
		return 0, err
	}
	sent := time.Now()
	ask, cancel := w.t.bounded(ctx)
	defer cancel()
	all, err := conn.Left(ask, w.keys)
	for i := range all {
		err = cmp.Or(err, all[i].Err)
	}
	if err != nil {
		n.failed(ctx, conn, err)
		return 0, err
	}
	w.t.mu.Lock()
	stands := w.at == n && n.conn == conn
	w.t.mu.Unlock()
	if !stands { // had the connection ended meanwhile, the watch was told
		return 0, errSilent
	}
	if left = all[0].Left; left != Gone {
		w.to.Alive(sent)
	}
	return left, nil
}

// locate returns the node that has the key. What was armed on another one does not
// count.
func (w *Watch) locate(ctx context.Context) (*node, error) {
	w.t.mu.Lock()
	n := w.at
	// A connection that is opened anew may be to a node that is deposed, until that is checked.
	up := n != nil && n.conn != nil && n.err == nil && n.checked
	w.t.mu.Unlock()
	if up && !w.t.opts.PerKey {
		return n, nil // the check of the node looks whether it still is the one
	}
	addr, err := w.t.src.Locate(ctx, w.key)
	if err != nil {
		return nil, err
	}
	n, moved, err := w.move(addr)
	if moved {
		w.to.Dropped()
	}
	return n, err
}

func (w *Watch) move(addr string) (n *node, moved bool, err error) {
	w.t.mu.Lock()
	defer w.t.mu.Unlock()
	if w.closed {
		return nil, false, ErrClosed
	}
	if n, err = w.t.nodeOf(addr); err != nil || n == w.at {
		return n, false, err
	}
	moved = w.at != nil
	if moved {
		delete(w.at.watches, w)
	}
	w.at = n
	n.watches[w] = struct{}{}
	return n, moved, nil
}

// Err returns why the watch cannot be armed, as far as is known.
func (w *Watch) Err() error {
	w.t.mu.Lock()
	defer w.t.mu.Unlock()
	if w.at == nil {
		return nil
	}
	return w.at.err
}

// Close ends the watch. The server forgets it with the next change of the key.
func (w *Watch) Close() {
	w.t.mu.Lock()
	defer w.t.mu.Unlock()
	if w.closed {
		return
	}
	w.closed = true
	w.t.ended(w)
	if w.at != nil {
		delete(w.at.watches, w)
	}
	for _, key := range w.keys {
		all := w.t.watches[key]
		if delete(all, w); len(all) == 0 {
			delete(w.t.watches, key)
		}
	}
}
