package keys

import (
	"errors"
	"strings"
)

// LatchChannel names the channel on which a latch is armed and opened, for either library: it
// wraps a name in braces also if that has some of its own. The count is the name
// itself.
func LatchChannel(name string) string { return "redisson_countdownlatch__channel__{" + name + "}" }

// LatchOpened names the key that says when a latch opened last; Redisson has no such key.
func LatchOpened(name string) string { return Prefix("rueidisson_opened", name) }

// LatchArmed names the key that says when a latch was armed last; Redisson has no such key.
func LatchArmed(name string) string { return Prefix("rueidisson_armed", name) }

// LatchParties returns those who have counted a latch down once.
func LatchParties(name string) string { return Prefix("rueidisson_parties", name) }

// ErrBraces says that a latch cannot have that name on a cluster.
var ErrBraces = errors.New("it has braces, and Redisson wraps the name of a latch in others: " +
	"the channel would be in another slot than the count")

// LatchOnCluster returns ErrBraces for a name that a latch cannot have there.
func LatchOnCluster(name string) error {
	if strings.ContainsAny(name, "{}") {
		return ErrBraces
	}
	return nil
}

// BarrierChannel names the channel on which the end of a barrier's generation is announced; Redisson
// has no barriers. The barrier is the name itself.
func BarrierChannel(name string) string { return Prefix("rueidisson_barrier__channel", name) }

// BarrierWaiting returns the parties that wait at a barrier.
func BarrierWaiting(name string) string { return Suffix(name, "waiting") }

// BarrierOpened returns the generations of a barrier that have opened.
func BarrierOpened(name string) string { return Suffix(name, "opened") }

// BarrierInside returns the parties of one generation that are inside of a double barrier.
func BarrierInside(name, generation string) string { return Suffix(name, "inside") + ":" + generation }

// BarrierArrival names the key that says what a party of a barrier has arrived for.
func BarrierArrival(name, party string) string { return Suffix(name, "arrival") + ":" + party }
