package keys

import "strings"

// reliableParts are what a reliable queue is made of, in the order in which its
// scripts have them. The last one is never there.
var reliableParts = [...]string{
	"body", "ready", "prio", "due", "lease", "tries", "opt", "head", "order", "unique",
	"dead", "error", "meta", "pause", "idle", "keeper", "deputy", "owners", "finished", "finished_until", "progress", "none",
}

// Reliable returns the parts of the reliable queue of that name. Redisson has none.
func Reliable(name string) []string {
	parts := make([]string, len(reliableParts), len(reliableParts)+1)
	for i, part := range reliableParts {
		parts[i] = Prefix("rueidisson_queue_"+part, name)
	}
	return parts
}

// ReliableLeases returns the messages of a reliable queue that somebody has, by the end
// of their leases.
func ReliableLeases(name string) string { return Prefix("rueidisson_queue_lease", name) }

// ReliableMeta returns the counters of a reliable queue.
func ReliableMeta(name string) string { return Prefix("rueidisson_queue_meta", name) }

// EveryReliableMeta is a pattern of the counters of all reliable queues.
const EveryReliableMeta = "rueidisson_queue_meta:*"

// ReliableOf returns the name of the reliable queue whose counters have that key. It is false of any other key.
func ReliableOf(key string) (name string, is bool) {
	name, is = strings.CutPrefix(key, "rueidisson_queue_meta:")
	if inner, braces := strings.CutPrefix(name, "{"); is && braces {
		inner, braces = strings.CutSuffix(inner, "}")
		if braces && !strings.ContainsAny(inner, "{}") {
			name = inner
		}
	}
	return name, is && name != "" && ReliableMeta(name) == key
}

// ReliablePause is there while nothing is taken from a reliable queue.
func ReliablePause(name string) string { return Prefix("rueidisson_queue_pause", name) }

// ReliableResult returns the result of a message of a reliable queue.
func ReliableResult(name, id string) string {
	return Prefix("rueidisson_queue_result", name) + ":" + id
}

// ReliableBodies returns the messages of a reliable queue.
func ReliableBodies(name string) string { return Prefix("rueidisson_queue_body", name) }

// ReliableOnce keeps a message from being added to a reliable queue twice.
func ReliableOnce(name, key string) string { return Prefix("rueidisson_queue_once", name) + ":" + key }

// ReliableLane returns how the keys of the lanes of a client about a reliable queue begin.
func ReliableLane(name, client string) string {
	return Prefix("rueidisson_queue_lane", name) + ":" + client
}

// ReliableWake returns how the channels begin on which those are told who wait at a
// reliable queue.
func ReliableWake(name string) string { return Prefix("rueidisson_queue_wake", name) + ":" }

// ReliableDone names the channel on which it is announced that a result is there.
func ReliableDone(name string) string { return Prefix("rueidisson_queue_done_ids", name) }

// ReliableCancelled names the channel on which it is announced which messages were cancelled that
// somebody has.
func ReliableCancelled(name string) string { return Prefix("rueidisson_queue_cancelled", name) }
