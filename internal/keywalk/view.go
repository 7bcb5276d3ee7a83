package keywalk

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

// slots says which slots are meant.
type slots [1 << 14]bool

// all returns all slots: without a cluster that is 0.
func all(cluster bool) (s slots) {
	s[0] = true
	for i := range s {
		s[i] = s[i] || cluster
	}
	return s
}

func (s *slots) none() bool { return *s == slots{} }

func (s *slots) len() (n int) {
	s.each(func(uint16) { n++ })
	return n
}

func (s *slots) each(do func(slot uint16)) {
	for i, is := range s {
		if is {
			do(uint16(i))
		}
	}
}

func (s *slots) meets(other *slots) bool {
	for i, is := range s {
		if is && other[i] {
			return true
		}
	}
	return false
}

// view is what a server says of its slots.
type view struct {
	id                string // of the server
	epoch             string // rises when it gets a slot that another one had
	owns, gives, gets slots
}

// moving reports whether only a part of a slot may be there.
func (v *view) moving(slot uint16) bool { return v.gives[slot] || v.gets[slot] }

// asking is a connection, or a client, of one server.
type asking interface {
	B() rueidis.Builder
	Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult
}

// view asks a server of its slots. One that is no cluster has all.
func (w *walk) view(ctx context.Context, of asking) (view, error) {
	if !w.e.Cluster() {
		return view{owns: all(false)}, nil
	}
	bound, cancel := w.bounded(ctx)
	defer cancel()
	text, err := of.Do(bound, of.B().ClusterNodes().Build()).ToString()
	if err != nil {
		return view{}, err
	}
	return parse(text)
}

// look is view of a server that is not scanned yet.
func (w *walk) look(ctx context.Context, node rueidis.Client) (view, error) {
	v, err := w.view(ctx, node)
	if err != nil {
		err = w.ended(ctx, err)
	}
	return v, err
}

// parse reads what CLUSTER NODES says of the server that was asked.
func parse(text string) (v view, err error) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 8 || !strings.Contains(words[2], "myself") {
			continue
		}
		v.id, v.epoch = words[0], words[6]
		for _, word := range words[8:] {
			if err := v.add(word); err != nil {
				return v, err
			}
		}
		return v, nil
	}
	return v, fmt.Errorf("CLUSTER NODES does not say who was asked, in %d bytes", len(text))
}

// add adds a slot, a range of slots, or one that moves: 7, 0-5460, [77->-id], [77-<-id].
func (v *view) add(word string) error {
	into := &v.owns
	text := word
	if inner, is := strings.CutPrefix(word, "["); is {
		to, moving := &v.gives, false
		if text, _, moving = strings.Cut(inner, "->-"); !moving {
			text, _, moving = strings.Cut(inner, "-<-")
			to = &v.gets
		}
		if !moving {
			return fmt.Errorf("CLUSTER NODES says %q of a slot", word)
		}
		into = to
	}
	first, last, is := strings.Cut(text, "-")
	if !is {
		last = first
	}
	from, err1 := strconv.ParseUint(first, 10, 14)
	to, err2 := strconv.ParseUint(last, 10, 14)
	if err1 != nil || err2 != nil {
		return fmt.Errorf("CLUSTER NODES says %q of a slot", word)
	}
	for slot := from; slot <= to; slot++ {
		into[slot] = true
	}
	return nil
}
