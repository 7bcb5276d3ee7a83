package core

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/keys"
)

// Key says of what something is: its kind, as locks of two kinds do not share
// their protocol, and the mapped name.
type Key struct {
	Kind string
	Name string
}

// GroupKind is the kind of a key that stands for some values of a group: see
// keys.GroupValues.
const GroupKind = "group"

// Shown returns the mapped name as users know it: of some values of a group, the group's.
func (k Key) Shown() string {
	if k.Kind != GroupKind {
		return k.Name
	}
	name, _ := keys.GroupOf(k.Name)
	return name
}

// families are the kinds of locks, and what each respects: locks of one family
// exclude each other under one name. A lock and a fenced one are one family,
// since they are the same hash with the same messages. Those of another take no
// notice of each other, or do not wake each other.
var families = []struct{ kind, family string }{
	{"lock", "lock"}, {"fenced", "lock"}, {"fair", "fair"}, {"election", "election"}, {"rwlock", "rwlock"}, {"read", "rwlock"}, {"write", "rwlock"},
}

// Family returns the family of a kind of lock: what may share a name.
func Family(kind string) string {
	if i := FamilyNumber(kind); i > 0 {
		return families[i-1].family
	}
	return kind
}

// FamilyNumber returns the number of the first kind of the family, from 1; 0: it is
// none of those.
func FamilyNumber(kind string) uint32 {
	for i := range families {
		if families[i].kind != kind {
			continue
		}
		for first := range families {
			if families[first].family == families[i].family {
				return uint32(first + 1)
			}
		}
	}
	return 0
}

// FamilyOf returns the family with a number.
func FamilyOf(number uint32) string { return families[number-1].family }

// Mixed returns the error of whoever asks for a lock of one family under a name that
// a lock of another has. There is what it is.
func Mixed(there string) error { return fmt.Errorf("%w: a lock of the family %q", ErrWrongKind, there) }

// mixedPrefix begins the error reply of a script that meets a lock of another
// family under its name: redis.error_reply('FAMILY rwlock').
const mixedPrefix = "FAMILY "

// FamilyThere returns the family that err, an answer of the server, names.
func FamilyThere(err error) (there string, is bool) {
	var reply *rueidis.RedisError
	if !errors.As(err, &reply) {
		return "", false
	}
	return strings.CutPrefix(reply.Error(), mixedPrefix)
}
