package peer

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// The versions of Redisson that the suite knows to build. Others may work.
const (
	Current  = "4.7.0"  // the version whose wire format this library follows
	Last3    = "3.52.0" // the last of the 3.x line in wide use
	Oldest   = "3.24.3" // the oldest with unlock latches
	readyIn  = 60 * time.Second
	closesIn = 10 * time.Second
)

// Versions returns all of them.
func Versions() []string { return []string{Current, Last3, Oldest} }

// Options say which Redisson runs and where it connects. Addr or Cluster is needed, not both.
type Options struct {
	Version  string        // of Redisson; [Current] if empty
	Addr     string        // host:port of a single server
	Cluster  []string      // host:port of some nodes of a cluster
	Codec    string        // String (the default), Long, Integer, Double, ByteArray, JsonJackson, TypedJson[:class[/class]], MsgPackJackson or Kryo5; or two with a comma between, for keys and values
	Watchdog time.Duration // lockWatchdogTimeout; Redisson's own default, 30 s, if zero
	Sharded  string        // shardedSubscriptionMode of a cluster: AUTO, ON or OFF (Redisson 3.29 or later)
	Full     bool          // the JVM gets all of its compiler and the memory that it likes: for benchmarks
	Env      []string      // KEY=value, added to the environment of the JVM
}

func (o Options) version() string {
	if o.Version == "" {
		return Current
	}
	return o.Version
}

// args returns the program's, as its README lists them.
func (o Options) args() []string {
	var args []string
	add := func(option, value string) {
		if value != "" {
			args = append(args, option, value)
		}
	}
	add("--single", urls(o.Addr))
	add("--cluster", urls(o.Cluster...))
	add("--codec", o.Codec)
	add("--sharded", o.Sharded)
	if o.Watchdog > 0 {
		add("--watchdog", millis(o.Watchdog))
	}
	return args
}

func urls(addrs ...string) string {
	var all []string
	for _, addr := range addrs {
		if addr != "" {
			all = append(all, "redis://"+addr)
		}
	}
	return strings.Join(all, ",")
}

// millis rounds up: a lease of less than a millisecond must not become "none".
func millis(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Millisecond-1)/time.Millisecond), 10)
}

// skip ends the test with one line; where the tools are required it fails.
func skip(t testing.TB, required bool, err error) {
	t.Helper()
	if required {
		t.Fatalf("interop: %v", err)
	} else {
		t.Skipf("interop: %v", err)
	}
}
