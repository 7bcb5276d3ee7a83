package locks

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/lock"
)

// lockFlag says which lock of NAME is meant: one of them, or the plain one
// without any.
type lockFlag struct {
	name, about string
	of          func(c *rueidisson.Client, name string) lock.Locker
	export      bool // --export goes with it
}

// plain is the lock that is meant without a flag.
var plain = lockFlag{of: func(c *rueidisson.Client, name string) lock.Locker { return c.Lock(name) }, export: true}

// lockFlags are the kinds of locks that have a flag.
var lockFlags = []lockFlag{
	{
		name: "fair", about: "take the fair lock NAME: first come, first served over all processes",
		of: func(c *rueidisson.Client, name string) lock.Locker { return c.FairLock(name) },
	},
	readSide, writeSide,
	{
		name: "fenced", about: "give CMD a fencing token, RUEIDISSON_FENCE", export: true,
		of: func(c *rueidisson.Client, name string) lock.Locker { return c.FencedLock(name) },
	},
}

// The sides of a read-write lock.
var (
	readSide = lockFlag{
		name: "read", about: "take the read side of the read-write lock NAME, as others may at the same time",
		of: func(c *rueidisson.Client, name string) lock.Locker { return c.RWLock(name).Read() },
	}
	writeSide = lockFlag{
		name: "write", about: "take the write side of the read-write lock NAME",
		of: func(c *rueidisson.Client, name string) lock.Locker { return c.RWLock(name).Write() },
	}
)

// addLockFlags makes the flags known.
func addLockFlags(f *pflag.FlagSet) {
	for _, kind := range lockFlags {
		f.Bool(kind.name, false, kind.about)
	}
}

// Switches returns the switches among lock's flags.
func Switches() (names []string) {
	for _, kind := range lockFlags {
		names = append(names, kind.name)
	}
	return names
}

// chosen returns the one of them that was given.
func chosen(among []lockFlag, given func(name string) bool) (lockFlag, error) {
	which, names := plain, []string(nil)
	for _, kind := range among {
		if given(kind.name) {
			which, names = kind, append(names, "--"+kind.name)
		}
	}
	if len(names) > 1 {
		return plain, exit.Usagef("%s exclude each other", strings.Join(names, " and "))
	}
	return which, nil
}
