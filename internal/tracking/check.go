package tracking

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// silentFor is how many exchanges' time a connection may be silent before it is
// given up.
const silentFor = 5

// check asks the node whether it still is the one, and tells that what it has told
// so far is all. An error says that the connection is of no use.
func (n *node) check(ctx context.Context, conn Conn) error {
	ctx, cancel := context.WithTimeout(ctx, silentFor*n.t.opts.Patience)
	defer cancel()
	n.t.mu.Lock()
	watches := slices.Collect(maps.Keys(n.watches))
	n.t.mu.Unlock()
	if n.t.opts.PerKey {
		return n.checkKeys(ctx, conn, slices.DeleteFunc(watches, func(w *Watch) bool { return !w.to.Used() }))
	}
	sent := time.Now()
	master, err := conn.Master(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errSilent, err)
	case !master:
		n.t.src.Doubt()
		return fmt.Errorf("%s is no master any more", n.addr)
	}
	if len(watches) > 0 {
		addr, err := n.t.src.Locate(ctx, watches[0].key)
		if err != nil || addr != n.addr {
			return errors.Join(fmt.Errorf("%s does not have the keys any more", n.addr), err)
		}
	}
	n.heard(conn, watches, sent)
	return nil
}

// mostKeys bounds one exchange.
const mostKeys = 1000

func (n *node) checkKeys(ctx context.Context, conn Conn, watches []*Watch) error {
	for some := range slices.Chunk(watches, mostKeys) {
		keys := make([]string, len(some))
		for i, w := range some {
			keys[i] = w.key
		}
		sent := time.Now()
		all, err := conn.Left(ctx, keys)
		if err != nil {
			return fmt.Errorf("%w: %w", errSilent, err)
		}
		var fine []*Watch
		for i, a := range all {
			switch {
			case a.Err != nil:
				n.t.src.Doubt()
				some[i].to.Dropped()
			case a.Left != Gone: // which was told, if it was there
				fine = append(fine, some[i])
			}
		}
		n.heard(conn, fine, sent)
	}
	if len(watches) == 0 {
		n.heard(conn, nil, time.Time{})
	}
	return nil
}

// heard tells the watches that are here still. Those that were told Dropped
// meanwhile count nothing by it, as they have to be armed again.
func (n *node) heard(conn Conn, watches []*Watch, sent time.Time) {
	n.t.mu.Lock()
	var told []*Watch
	if n.conn == conn {
		n.err, n.checked = nil, true
		for _, w := range watches {
			if w.at == n {
				told = append(told, w)
			}
		}
	}
	n.t.mu.Unlock()
	for _, w := range told {
		w.to.Alive(sent)
	}
}
