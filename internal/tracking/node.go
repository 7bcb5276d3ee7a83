package tracking

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// node is the tracked connection of one node, and the goroutine that keeps it.
type node struct {
	t      *Tracker
	addr   string
	opened chan struct{} // closed when the first connection came about, or did not

	// Guarded by Tracker.mu.
	watches map[*Watch]struct{}
	conn    Conn
	err     error // why there is none, or why what there is does not count
	checked bool  // by this connection it was the one that has the keys
}

// Pauses between connections that fail, and where there is no tracking.
const (
	firstPause       = 50 * time.Millisecond
	longestPause     = time.Second
	unsupportedPause = 10 * time.Second
)

// run keeps a connection while something is watched here.
func (n *node) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // ends with ctx
		select {
		case <-n.t.opts.Closing:
			cancel()
		case <-ctx.Done():
		}
	}()
	pause := firstPause
	for first := true; !n.over(ctx); first = false {
		began := time.Now()
		conn, err := n.open(ctx)
		if first {
			close(n.opened)
		}
		if err == nil {
			err = n.serve(ctx, conn)
			n.hangUp(conn, err)
		}
		if time.Since(began) > longestPause {
			pause = firstPause
		}
		if errors.Is(err, ErrUnsupported) {
			pause = unsupportedPause
		}
		timer := time.NewTimer(pause/2 + rand.N(pause/2))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
		pause = min(2*pause, max(longestPause, pause))
	}
}

// over ends the node when nothing is watched there. Who comes then gets another.
func (n *node) over(ctx context.Context) bool {
	n.t.mu.Lock()
	defer n.t.mu.Unlock()
	if len(n.watches) > 0 && ctx.Err() == nil {
		return false
	}
	if n.err == nil {
		n.err = ErrClosed
	}
	delete(n.t.nodes, n.addr)
	return true
}

// open connects. Several exchanges may be needed for that.
func (n *node) open(ctx context.Context) (Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*n.t.opts.Patience)
	defer cancel()
	conn, err := n.t.src.Connect(ctx, n.addr, func(keys []string) { n.t.changed(n, keys) })
	if err != nil {
		n.t.src.Doubt()
		n.t.opts.Logger.Debug("tracked connection not opened", "node", n.addr, "err", err)
	}
	n.t.mu.Lock()
	defer n.t.mu.Unlock()
	n.conn, n.err, n.checked = conn, err, false
	if err != nil {
		n.conn = nil
	}
	return conn, err
}

// hangUp drops what the connection stood for.
func (n *node) hangUp(conn Conn, err error) {
	n.t.mu.Lock()
	n.conn = nil
	if n.err = err; err == nil {
		n.err = ErrClosed
	}
	n.t.mu.Unlock()
	n.t.changed(n, nil)
	n.t.opts.Logger.Debug("tracked connection ended", "node", n.addr, "err", err)
	if !n.t.opts.Spawn(conn.Close) { // takes a while if the server is silent; the next need not wait
		conn.Close()
	}
}

// ready returns the connection, if it may be asked.
func (n *node) ready(ctx context.Context) (Conn, error) {
	ctx, cancel := n.t.bounded(ctx)
	defer cancel()
	select {
	case <-n.opened:
	case <-ctx.Done():
		return nil, fmt.Errorf("no tracked connection to %s yet: %w", n.addr, ctx.Err())
	}
	n.t.mu.Lock()
	defer n.t.mu.Unlock()
	switch {
	case n.err != nil:
		return nil, n.err
	case n.conn == nil:
		return nil, ErrClosed
	}
	return n.conn, nil
}

// failed takes in that arming was not answered: nobody waits for that connection
// again before it has answered the check.
func (n *node) failed(ctx context.Context, conn Conn, err error) {
	if answered(err) {
		n.t.src.Doubt() // it has moved, or the node is cut off
		return
	}
	if ctx.Err() != nil {
		return // the caller's end
	}
	n.t.mu.Lock()
	defer n.t.mu.Unlock()
	if n.conn == conn && n.err == nil {
		n.err = fmt.Errorf("%w: %w", errSilent, err)
	}
}

// serve asks again and again, until the connection is of no use.
func (n *node) serve(ctx context.Context, conn Conn) error {
	timer := time.NewTimer(n.beat())
	defer timer.Stop()
	for idle := 0; idle < 3; {
		select {
		case err := <-conn.Done():
			if err == nil {
				err = ErrClosed
			}
			return err
		case <-ctx.Done():
			return ErrClosed
		case <-timer.C:
		}
		if err := n.check(ctx, conn); err != nil {
			return err
		}
		n.t.mu.Lock()
		if idle++; len(n.watches) > 0 {
			idle = 0
		}
		n.t.mu.Unlock()
		timer.Reset(n.beat())
	}
	return nil
}

func (n *node) beat() time.Duration {
	n.t.mu.Lock()
	defer n.t.mu.Unlock()
	return n.t.beat
}
