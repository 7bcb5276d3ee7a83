package rmap

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/rueidisson/rueidisson/internal/send"
)

// slotSet is a set of slots. Where there is no cluster, all names are of slot 0.
type slotSet [1 << 14 / 32]atomic.Uint32

func (s *slotSet) has(slot uint16) bool { return s[slot/32].Load()&(1<<(slot%32)) != 0 }

func (s *slotSet) add(slot uint16) { s[slot/32].Or(1 << (slot % 32)) }

func (s *slotSet) remove(slot uint16) { s[slot/32].And(^(uint32(1) << (slot % 32))) }

// fieldsExpire asks the server of a map once whether fields may have times to
// live. A server that has none would write the value, and then fail. In a cluster
// that is upgraded some have them and others not, and a slot that moves to one
// that has is led there by a script alone: an older one refuses the bare command
// before it looks where the slot is.
func (h *hub) fieldsExpire(ctx context.Context, name string) error {
	slot := h.e.Slot(name)
	if h.expiring.has(slot) {
		return nil
	}
	info, err := reading(ctx, h, func() (value, error) {
		return found(h.e.Run(ctx, expiresScript, []string{name}, []string{"rueidisson:probe:" + rand.Text()}))
	})
	if err != nil {
		return err
	}
	if info.there {
		return fmt.Errorf("%w: entries with times to live need Redis 7.4 or Valkey 9 (HPEXPIRE), and the server is %s: a Cache does without",
			errors.ErrUnsupported, serverOf(info.text))
	}
	h.expiring.add(slot)
	return nil
}

// fieldsDoNotExpire has the server of a map asked again: it has failed over to an
// older one.
func (h *hub) fieldsDoNotExpire(name string) { h.expiring.remove(h.e.Slot(name)) }

// serverOf returns what a server calls itself, by its INFO or why it has none.
func serverOf(info string) string {
	product, version := send.Product(info)
	switch {
	case version != "":
		return product + " " + version
	case strings.Contains(info, "section"):
		return "miniredis, the embedded one of tests, which has HEXPIRE only"
	}
	return "of a version that it does not tell"
}
