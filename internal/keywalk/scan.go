package keywalk

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/pubsub"
)

const (
	// pageKeys is how many keys a server looks at in one call: less than a millisecond.
	pageKeys = 1000
	// firstPage is how many keys it looks at before it is known how long they are.
	firstPage = 100
	// pageBytes bounds a page of long keys.
	pageBytes = 512 << 10
	// mostAnew is how often the scan of a server begins anew.
	mostAnew = 10
)

// errAnew says that a server never lived long enough for one scan.
var errAnew = errors.New("the server, or the connection to it, was another one each time before its keys were scanned")

// line is a connection to one process of a server.
type line struct {
	rueidis.DedicatedClient
	release func()
	process string // its run id, "" if it does not say
}

// Probe asks which process it is. A user who may not know that has each broken connection cost a new beginning.
func (l *line) Probe(ctx context.Context) error {
	info, err := l.Do(ctx, l.B().Info().Section("server").Build()).ToString()
	if _, answered := rueidis.IsRedisErr(err); answered {
		return nil
	}
	for text := range strings.Lines(info) {
		if id, is := strings.CutPrefix(text, "run_id:"); is {
			l.process = strings.TrimSpace(id)
		}
	}
	return err
}

// scanning is the scan of one server.
type scanning struct {
	*walk
	node   rueidis.Client
	on     *line
	last   string // the process that gave the cursor
	anew   int
	before view
	cursor uint64
	looked int64 // keys, since the scan began
	whole  bool  // the last page was handed on
}

// scan hands on the keys of one server, and notes what has been seen.
func (w *walk) scan(ctx context.Context, node rueidis.Client) (err error) {
	s := scanning{walk: w, node: node}
	defer func() { s.hangUp(err != nil) }()
	for failed := 0; ; {
		done, err := s.step(ctx)
		switch {
		case done:
			return nil
		case err == nil:
			failed = 0
			continue
		case !Passes(err):
			return err
		}
		s.hangUp(true)
		if failed++; failed == tries {
			return err
		}
		if err = w.rest(ctx); err != nil {
			return err
		}
	}
}

// step takes the next page.
func (s *scanning) step(ctx context.Context) (done bool, err error) {
	if err := s.usable(ctx); err != nil {
		return false, err
	}
	if s.on == nil {
		if err := s.connect(ctx); err != nil {
			return false, s.ended(ctx, err)
		}
	}
	if !s.whole {
		if err := s.next(ctx); err != nil || !s.whole {
			return false, err
		}
	}
	after, err := s.view(ctx, s.on)
	if err != nil {
		return false, s.ended(ctx, err)
	}
	s.settled(s.before, after)
	return true, nil
}

// next hands on a page. It is the last one also if the walk leaves the server: then the slots of the server count as seen.
func (s *scanning) next(ctx context.Context) error {
	keys, err := s.page(ctx)
	if err != nil {
		return s.ended(ctx, err)
	}
	if err := s.visit.Page(s.node, keys); err != nil {
		return final{err}
	}
	if s.whole = s.cursor == 0; !s.whole && s.share > 0 && s.looked >= s.share {
		s.more, s.whole = true, true
	}
	return nil
}

// connect takes a connection. The scan begins anew unless that leads to the process that gave the cursor.
func (s *scanning) connect(ctx context.Context) error {
	bound, cancel := s.bounded(ctx)
	defer cancel()
	on, err := pubsub.Take(bound, s.node, func() *line {
		c, release := s.node.Dedicate()
		return &line{DedicatedClient: c, release: release}
	})
	if err != nil {
		return err
	}
	s.on = on
	if s.last != "" && s.last == on.process {
		return nil
	}
	if s.anew++; s.anew > mostAnew {
		return final{errAnew}
	}
	s.last, s.cursor, s.looked, s.whole = on.process, 0, 0, false
	if s.before, err = s.view(ctx, on); err != nil {
		s.last = ""
		return err
	}
	if s.visit.Again != nil {
		s.visit.Again(func(slot uint16) bool { return s.before.owns[slot] && s.left[slot] })
	}
	return nil
}

// hangUp gives the connection back, or ends it if it is broken.
func (s *scanning) hangUp(broken bool) {
	switch {
	case s.on == nil:
		return
	case broken:
		s.on.Close()
	default:
		s.on.release()
	}
	s.on = nil
}

// page returns the next keys that match, of slots that have not been seen.
func (s *scanning) page(ctx context.Context) (keys []string, err error) {
	bound, cancel := s.bounded(ctx)
	defer cancel()
	count := s.count
	if s.share > 0 {
		count = min(count, s.share-s.looked)
	}
	words := []string{"COUNT", decimal(count)}
	if s.q.Pattern != "" {
		words = append(words, "MATCH", s.q.Pattern)
	}
	if s.q.Type != "" {
		words = append(words, "TYPE", s.q.Type)
	}
	got, err := s.on.Do(bound, s.on.B().Arbitrary("SCAN", strconv.FormatUint(s.cursor, 10)).Args(words...).Build()).AsScanEntry()
	if err != nil {
		return nil, err
	}
	s.cursor, s.looked = got.Cursor, s.looked+count
	s.measure(got.Elements)
	if !s.e.Cluster() {
		return got.Elements, nil
	}
	keys = got.Elements[:0]
	for _, key := range got.Elements {
		if s.left[s.e.Topo.Slot(key)] {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// measure chooses how many keys the next page looks at: as many as fit if all are as long as the longest of the last.
func (s *scanning) measure(keys []string) {
	longest := 0
	for _, key := range keys {
		longest = max(longest, len(key))
	}
	s.count = pageKeys
	if longest > 0 {
		s.count = max(1, min(pageKeys, pageBytes/int64(longest)))
	}
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
