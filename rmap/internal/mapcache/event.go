package mapcache

import (
	"fmt"

	"github.com/rueidisson/rueidisson/internal/feed"
	"github.com/rueidisson/rueidisson/internal/keys"
)

// Kind is what has happened to an entry.
type Kind int

// The kinds, each with a channel of its own.
const (
	Created Kind = iota
	Updated
	Removed
	Expired
	kinds
)

var kindNames = [kinds]string{"created", "updated", "removed", "expired"}

func (k Kind) String() string {
	if k < 0 || k >= kinds {
		return fmt.Sprintf("Kind(%d)", int(k))
	}
	return kindNames[k]
}

// Channel returns where the events of that kind about a cache are published.
func (k Kind) Channel(name string) string { return keys.Prefix("redisson_map_cache_"+k.String(), name) }

// Event is what is published about an entry.
type Event struct {
	Kind     Kind
	Key, New string
	Old      string // of an update
}

// ParseEvent reads what was published: for each of its parts the length in eight
// bytes, little-endian, and the bytes.
func ParseEvent(kind Kind, payload string) (ev Event, err error) {
	ev.Kind = kind
	parts := []*string{&ev.Key, &ev.New}
	if kind == Updated {
		parts = append(parts, &ev.Old)
	}
	if err := feed.Split(payload, parts...); err != nil {
		return Event{}, fmt.Errorf("%s: %w", kind, err)
	}
	return ev, nil
}
