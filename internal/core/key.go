package core

import "github.com/rueidisson/rueidisson/internal/keys"

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
