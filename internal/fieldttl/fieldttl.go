// Package fieldttl knows which servers keep times to live of the fields of a hash: Redis 7.4, Valkey 9, and later.
package fieldttl

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

//go:embed lua/*.lua
var lua embed.FS

// Script reads whether the server of a key has times to live of fields.
var Script = scripts.Must(lua, "lua/expires.lua")

// Support remembers which servers of a client keep times to live of fields.
type Support struct {
	e     *locking.Engine
	slots slotSet // whose servers have times to live of fields
}

type supportKey struct{}

// Of returns what a client knows.
func Of(e *locking.Engine) *Support {
	return e.Shared(supportKey{}, func() any { return &Support{e: e} }).(*Support)
}

// Check returns an error that wraps [errors.ErrUnsupported] if the server of a key has no times to live of fields. Such a
// server would write the value, and then fail.
//
// The server is asked once for each slot. In a cluster that is upgraded some servers have them and others do not. A slot
// that moves to a server that has them is led there by a script alone: an older server refuses the bare command before it
// looks where the slot is.
func (s *Support) Check(ctx context.Context, key string) error {
	if s.Known(key) {
		return nil
	}
	got, err := send.Reading(s.e.Sender, ctx, func() (send.Answer, error) {
		return s.e.Run(ctx, Script, []string{key}, []string{"rueidisson:probe:" + rand.Text()})
	})
	if err != nil {
		return err
	}
	if !got.Nil {
		info, err := got.ToString()
		if err != nil {
			return err
		}
		return fmt.Errorf("%w: entries with times to live need Redis 7.4 or Valkey 9 (HPEXPIRE), and the server is %s: a Cache does without",
			errors.ErrUnsupported, serverOf(info))
	}
	s.Note(key, true)
	return nil
}

// Known reports whether the server of a key is known to have times to live of fields.
func (s *Support) Known(key string) bool { return s.slots.has(s.e.Slot(key)) }

// Note remembers whether the server of a key has times to live of fields. A server that is not known yet is asked
// again: the one before may have failed over to an older one.
func (s *Support) Note(key string, has bool) {
	if has {
		s.slots.add(s.e.Slot(key))
		return
	}
	s.slots.remove(s.e.Slot(key))
}

// slotSet is a set of slots. Where there is no cluster, all names are of slot 0.
type slotSet [1 << 14 / 32]atomic.Uint32

func (s *slotSet) has(slot uint16) bool { return s[slot/32].Load()&(1<<(slot%32)) != 0 }

func (s *slotSet) add(slot uint16) { s[slot/32].Or(1 << (slot % 32)) }

func (s *slotSet) remove(slot uint16) { s[slot/32].And(^(uint32(1) << (slot % 32))) }

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
