package keys

import (
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	anOwner   = "285475da-9152-4c83-822a-67ee2f116a79:4611686018427387905"
	aRequest  = "0123456789abcdef0123456789abcdef"
	crossSlot = true
)

// names is what wire compatibility and clusters say of each form of a name.
var names = []struct {
	form, name, prefixed string
	crossSlot            bool
}{
	{"no braces", "orders", "p:{orders}", false},
	{"no braces, with colons", "shop:orders:42", "p:{shop:orders:42}", false},
	{"no braces, not ASCII", "größe", "p:{größe}", false},
	{"a tag in front", "{u1}:orders", "p:{u1}:orders", false},
	{"a tag within", "a{b}c", "p:a{b}c", false},
	{"nothing but a tag", "{b}", "p:{b}", false},
	{"a tag of one byte, then an empty one", "{b}{}", "p:{b}{}", false},
	{"two tags: the first counts", "{a}{b}", "p:{a}{b}", false},
	{"a doubled tag", "x{{y}}z", "p:x{{y}}z", false},
	{"a tag of an opening brace", "{{}", "p:{{}", false},
	{"a closing brace alone", "a}b", "p:{a}b}", crossSlot},
	{"an opening brace alone", "a{b", "p:a{b", crossSlot},
	{"an opening brace at the end", "ab{", "p:ab{", crossSlot},
	{"an empty tag", "a{}b", "p:a{}b", crossSlot},
	{"an empty tag in front", "{}x", "p:{}x", crossSlot},
	{"an empty tag before a good one", "{}{b}", "p:{}{b}", crossSlot},
	{"a closing brace before a tag", "a}b{c}", "p:a}b{c}", false}, // the server agrees, Redisson computes another slot
}

func TestPrefixWrapsExactlyTheNamesWithoutAnOpeningBrace(t *testing.T) {
	t.Parallel()
	for _, n := range names {
		t.Run(n.form, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, n.prefixed, Prefix("p", n.name))
		})
	}
}

func TestDerivedKeysAreSpelledAsRedissonSpellsThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want string }{
		{LockChannel("orders"), "redisson_lock__channel:{orders}"},
		{LockChannel("{u1}:orders"), "redisson_lock__channel:{u1}:orders"},
		{LockChannel("a{b}c"), "redisson_lock__channel:a{b}c"},
		{UnlockLatch("orders", aRequest), "redisson_unlock_latch:{orders}:" + aRequest},
		{UnlockLatch("a{b}c", aRequest), "redisson_unlock_latch:a{b}c:" + aRequest},
		{JoinLatch("orders", aRequest), "rueidisson_join_latch:{orders}:" + aRequest},
		{JoinLatch("a{b}c", aRequest), "rueidisson_join_latch:a{b}c:" + aRequest},
		{Tombstones("orders"), "rueidisson_gone:{orders}"},
		{Tombstones("a{b}c"), "rueidisson_gone:a{b}c"},
		{SemaphoreChannel("orders"), "redisson_sc:{orders}"},
		{SemaphoreChannel("a{b}c"), "redisson_sc:a{b}c"},
		{Lane("orders", "c"), "rueidisson_lane:{orders}:c"},
		{Lane("a{b}c", "c"), "rueidisson_lane:a{b}c:c"},
		{LatchChannel("ready"), "redisson_countdownlatch__channel__{ready}"},
		{LatchChannel("a{b}c"), "redisson_countdownlatch__channel__{a{b}c}"},
		{LatchOpened("ready"), "rueidisson_opened:{ready}"},
		{LatchParties("ready"), "rueidisson_parties:{ready}"},
		{BarrierChannel("phase"), "rueidisson_barrier__channel:{phase}"},
		{BarrierChannel("a{b}c"), "rueidisson_barrier__channel:a{b}c"},
		{BarrierWaiting("phase"), "{phase}:waiting"},
		{BarrierOpened("phase"), "{phase}:opened"},
		{BarrierArrival("phase", "c:1"), "{phase}:arrival:c:1"},
		{BarrierArrival("a{b}c", "c:1"), "a{b}c:arrival:c:1"},
	} {
		assert.Equal(t, c.want, c.got)
	}
}

// slot is what rueidis' cluster client routes by.
func slot(key string) uint16 {
	cmd := rueidis.Builder{}.Arbitrary("GET").Build().SetSlot(key)
	return cmd.Slot()
}

func TestSlotIsTheClusterSpecifications(t *testing.T) {
	t.Parallel()
	assert.EqualValues(t, 0x31C3, slot("123456789"), "the specification's reference value of CRC16")
	assert.Equal(t, slot("user1000"), slot("{user1000}.following"))
}

// derived is every key and channel of one object.
func derived(name string) []string {
	return []string{LockChannel(name), UnlockLatch(name, aRequest), JoinLatch(name, aRequest), Tombstones(name), SemaphoreChannel(name), Lane(name, aRequest)}
}

func together(name string) bool {
	for _, key := range derived(name) {
		if slot(key) != slot(name) {
			return false
		}
	}
	return true
}

func TestNamesOnACluster(t *testing.T) {
	t.Parallel()
	for _, n := range names {
		t.Run(n.form, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, n.crossSlot, !together(n.name), "do the slots of %q and %q differ?", n.name, derived(n.name))
		})
	}
}

func TestOnClusterRefusesEveryNameOfSeveralSlots(t *testing.T) {
	t.Parallel()
	for _, n := range names {
		t.Run(n.form, func(t *testing.T) {
			t.Parallel()
			err := OnCluster(n.name)
			if n.crossSlot || strings.HasPrefix(n.name, "a}") {
				assert.ErrorIs(t, err, ErrSlot)
			} else {
				assert.NoError(t, err)
			}
		})
	}
}

// FuzzOnCluster looks for a name that is accepted and does not keep together,
// or that is refused without need. The empty name is refused everywhere.
func FuzzOnCluster(f *testing.F) {
	for _, n := range names {
		f.Add(n.name)
	}
	f.Add("}{")
	f.Add("}{}{a}")
	f.Fuzz(func(t *testing.T, name string) {
		if name == "" {
			return
		}
		err := OnCluster(name)
		if err == nil && !together(name) {
			t.Fatalf("%q is accepted, and %q do not share its slot %d", name, derived(name), slot(name))
		}
		if err != nil && !strings.ContainsAny(name, "{}") {
			t.Fatalf("%q is refused: %v", name, err)
		}
	})
}

func TestNamesOfLatchesOnACluster(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ready", "a b", "é"} {
		require.NoError(t, LatchOnCluster(name), name)
		for _, key := range []string{LatchChannel(name), LatchOpened(name), LatchParties(name), Lane(name, "c")} {
			assert.Equal(t, slot(name), slot(key), key)
		}
	}
	for _, name := range []string{"{u1}:ready", "a{b}c", "a}b", "a{b", "{}x"} {
		require.ErrorIs(t, LatchOnCluster(name), ErrBraces, name)
	}
}
