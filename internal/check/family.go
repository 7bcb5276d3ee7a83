package check

import (
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
)

// Family returns the looks which tell whether the hash of that name is a lock of another family than this. The families
// of locks without a field of their own look alike as long as nobody waits.
func Family(name, own string) []Look {
	other := func(there string, is func(answer string) bool) func(string) error {
		return func(answer string) error {
			if own == there || !is(answer) {
				return nil
			}
			return core.Mixed(there)
		}
	}
	rw := Look{[]string{"hexists", name, "mode"}, other("rwlock", func(a string) bool { return a == "1" })}
	if own == "rwlock" {
		mode := ""
		return []Look{
			{rw.Words, func(a string) error { mode = a; return nil }},
			{[]string{"hlen", name}, func(a string) error {
				switch {
				case mode != "0" || a == "" || a == "0":
					return nil
				case a == "1":
					return core.Mixed("lock")
				}
				return core.Mixed("group")
			}},
		}
	}
	looks := []Look{rw}
	if own == "lock" {
		looks = append(looks, Look{[]string{"exists", keys.FairQueue(name)}, other("fair", func(a string) bool { return a == "1" })})
	}
	looks = append(looks, Look{[]string{"hlen", name}, func(a string) error {
		switch many := a != "" && a != "0" && a != "1"; {
		case own == core.GroupKind && a == "1":
			return core.Mixed("lock")
		case own != core.GroupKind && many:
			return core.Mixed("group") // or a read-write lock, which the first look has said
		}
		return nil
	}})
	return looks
}
