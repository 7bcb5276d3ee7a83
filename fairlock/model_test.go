package fairlock

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rueidisson/rueidisson/internal/embedded"
)

// fair is what the scripts are compared with: the same lock in plain Go, with
// the processes of ours and of Redisson's that share it.
type fair struct {
	now       int64
	holder    string
	until     int64 // of the holder's lease
	queue     []string
	deadlines map[string]int64
	alive     map[string]word
	quiet     bool             // nobody has said anything for too long to tell who is alive
	memory    int64            // for how long it is remembered who is alive
	said      int64            // until when the table of the living stands
	gone      map[string]int64 // since when
	forgotten int64            // when the last of them ends
}

// word is when a process has said that it is alive, and how; see say in queue.lua.
type word struct {
	at   int64
	mark string
}

const (
	tombMs   = 45_000
	memoryMs = 10_000
	triedMs  = 48 * 3600_000
)

// front drops those at the front that are dead; own and me are not.
func (f *fair) front(own, me string) string {
	f.expire()
	f.quiet = false
	if len(f.queue) > 0 && f.queue[0] != own {
		f.attend()
	}
	for len(f.queue) > 0 && f.queue[0] != own && f.dead(f.queue[0], me) {
		f.drop(f.queue[0])
	}
	if len(f.queue) == 0 {
		return ""
	}
	return f.queue[0]
}

func (f *fair) attend() {
	last := word{at: -1 << 40}
	for _, w := range f.alive {
		if w.at > last.at || w.at == last.at && w.mark == "" {
			last = w
		}
	}
	if last.at+aliveMs <= f.now {
		f.census()
		return
	}
	f.quiet = last.at < f.now-900 || last.at == f.now-900 && last.mark != ""
}

func (f *fair) census() {
	seen := map[string]bool{}
	for _, owner := range f.queue {
		client := owner[:min(len(owner), clientLength)]
		if !ours(owner) || seen[client] {
			continue
		}
		seen[client] = true
		if f.alive[client].mark != ".25" {
			f.say(client, ".25")
		}
	}
	f.said = f.now + f.memory
}

func (f *fair) dead(owner, me string) bool {
	if !ours(owner) {
		return f.deadlines[owner] <= f.now
	}
	client := owner[:clientLength]
	return client != me && !f.quiet && !f.lives(client)
}

func (f *fair) lives(client string) bool {
	w, there := f.alive[client]
	return there && w.at+aliveMs > f.now
}

func (f *fair) drop(owner string) {
	f.queue = slices.DeleteFunc(f.queue, func(o string) bool { return o == owner })
	delete(f.deadlines, owner)
}

func (f *fair) say(client, mark string) {
	f.alive[client], f.said = word{f.now, mark}, f.now+f.memory
}

// expire forgets what the server forgets by itself.
func (f *fair) expire() {
	if f.holder != "" && f.now >= f.until {
		f.holder = ""
	}
	if f.now >= f.said {
		clear(f.alive)
	}
	if f.now >= f.forgotten {
		clear(f.gone)
	}
}

func (f *fair) buried(owner string) bool {
	_, there := f.gone[owner]
	return there
}

func (f *fair) take(owner string) {
	f.holder, f.until = owner, f.now+leaseMs
}

func (f *fair) acquire(owner, mode string) string {
	if f.expire(); f.holder == owner {
		f.until = max(f.until, f.now+leaseMs)
		return "acquired"
	}
	if f.buried(owner) {
		return "refused"
	}
	if mode == once {
		f.memory = triedMs
	}
	head := f.front(owner, owner[:clientLength])
	f.memory = memoryMs
	if mode == again && !slices.Contains(f.queue, owner) {
		f.queue, head = slices.Insert(f.queue, 0, owner), owner
	}
	if f.holder == "" && (head == "" || head == owner) {
		f.drop(owner)
		f.take(owner)
		if mode == once && head == "" {
			clear(f.alive)
		}
		return "acquired"
	}
	if mode != once {
		f.enqueue(owner, mode)
	}
	return "refused"
}

func (f *fair) enqueue(owner, mode string) {
	if _, there := f.deadlines[owner]; there {
		return
	}
	f.deadlines[owner] = f.now + slackMs
	if mode != again {
		f.deadlines[owner] = f.behind()
		f.queue = append(f.queue, owner)
	}
	mark := ""
	if f.alive[owner[:clientLength]].mark != "" {
		mark = ".5"
	}
	if f.quiet {
		f.census()
	}
	f.say(owner[:clientLength], mark)
}

func (f *fair) behind() int64 {
	if len(f.queue) == 0 {
		return f.now + slackMs
	}
	tail := f.queue[len(f.queue)-1]
	if ours(tail) {
		return max(f.now+slackMs, f.deadlines[tail])
	}
	return max(f.now+300_000, f.deadlines[tail]) + slackMs
}

func (f *fair) release(owner string, candidates []string) string {
	head := f.front("", owner[:clientLength])
	switch {
	case f.holder == owner && slices.Contains(candidates, head):
		f.drop(head)
		f.take(head)
		return head
	case f.holder == owner:
		f.holder = ""
		return "released"
	case slices.Contains(candidates, f.holder):
		f.until = max(f.until, f.now+leaseMs)
		return f.holder
	}
	return "not held"
}

func (f *fair) leave(owner, way string) {
	f.expire()
	queued := slices.Contains(f.queue, owner)
	f.drop(owner)
	if queued && len(f.queue) == 0 {
		clear(f.alive)
	}
	if way == buried {
		f.gone[owner], f.forgotten = f.now, f.now+tombMs
		maps.DeleteFunc(f.gone, func(_ string, since int64) bool { return since <= f.now-tombMs })
	}
	if way != place && f.holder == owner {
		f.holder, queued = "", true
	}
	if queued && f.holder == "" {
		f.front("", owner[:clientLength])
	}
}

func (f *fair) keep(client string, late, walk bool, lost []string) (turn string) {
	if f.expire(); late {
		f.census()
		f.say(client, ".5")
	} else {
		f.attend()
		f.say(client, "")
	}
	f.front("", client)
	if walk || len(lost) > 0 {
		f.walk(client)
		if !late {
			f.bringBack(lost)
		}
	}
	if f.holder == "" {
		turn = f.front("", client)
	}
	if turn == "" {
		turn = f.holder
	}
	if !strings.HasPrefix(turn, client) {
		return ""
	}
	return turn
}

func (f *fair) walk(client string) {
	javas, queued := int64(0), map[string]bool{}
	for _, owner := range f.queue {
		if !ours(owner) {
			javas++
		} else if strings.HasPrefix(owner, client) {
			f.deadlines[owner] = f.now + slackMs + javas*300_000
		}
		queued[owner[:min(len(owner), clientLength)]] = true
	}
	maps.DeleteFunc(f.alive, func(client string, _ word) bool { return !f.lives(client) && !queued[client] })
}

func (f *fair) bringBack(lost []string) {
	for _, owner := range slices.Backward(lost) {
		if !slices.Contains(f.queue, owner) && f.holder != owner && !f.buried(owner) {
			f.queue = slices.Insert(f.queue, 0, owner)
			f.deadlines[owner] = f.now + slackMs
		}
	}
}

func (f *fair) javaPrune() {
	f.expire()
	for len(f.queue) > 0 {
		score, there := f.deadlines[f.queue[0]]
		if !there || score > f.now {
			return
		}
		f.drop(f.queue[0])
	}
}

func (f *fair) javaAcquire(owner string, wait int64) {
	f.javaPrune()
	if f.holder == "" && (len(f.queue) == 0 || f.queue[0] == owner) {
		f.drop(owner)
		for other := range f.deadlines {
			f.deadlines[other] -= wait
		}
		f.take(owner)
		return
	}
	if _, queued := f.deadlines[owner]; queued || f.holder == owner {
		if f.holder == owner {
			f.until = f.now + leaseMs
		}
		return
	}
	ttl := int64(-2)
	if f.holder != "" {
		ttl = f.until - f.now
	}
	if len(f.queue) > 0 {
		if score, there := f.deadlines[f.queue[len(f.queue)-1]]; there {
			ttl = score - f.now
		}
	}
	f.deadlines[owner] = ttl + wait + f.now
	f.queue = append(f.queue, owner)
}

func (f *fair) javaCancel(owner string, wait int64) {
	if at := slices.Index(f.queue, owner); at >= 0 {
		for _, other := range f.queue[at+1:] {
			f.deadlines[other] -= wait
		}
	}
	f.drop(owner)
}

func (f *fair) javaUnlock(owner string) {
	f.javaPrune()
	if f.holder == owner {
		f.holder = ""
	}
}

// faked is a bench on a server whose clock stands until it is moved.
type faked struct {
	*bench
	server *embedded.Server
}

func newFaked(t *testing.T) *faked {
	server, err := embedded.StartManual()
	require.NoError(t, err)
	t.Cleanup(server.Close)
	client, err := rueidis.NewClient(server.ClientOption())
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return &faked{&bench{t: t, raw: client, counts: "0"}, server}
}

// requireSame compares the server with the model.
func (b *faked) requireSame(t *rapid.T, f *fair) {
	f.expire()
	b.t = t
	require.Equal(t, f.holder, b.holder())
	require.Equal(t, append([]string{}, f.queue...), append([]string{}, b.queue()...))
	scores := map[string]int64{}
	pairs := b.list("ZRANGE", b.keys(3)[2], "0", "-1", "WITHSCORES")
	for i := 0; i < len(pairs); i += 2 {
		score, err := strconv.ParseFloat(pairs[i+1], 64)
		require.NoError(t, err)
		scores[pairs[i]] = int64(score)
	}
	require.Equal(t, f.deadlines, scores)
	if f.holder != "" {
		require.Equal(t, f.until-f.now, b.left().Milliseconds())
	}
}

// TestTheScriptsDoWhatTheModelDoes sends any steps of our processes and of
// Redisson's, in any order, with time that passes between them, and each of ours
// perhaps twice.
func TestTheScriptsDoWhatTheModelDoes(t *testing.T) {
	t.Parallel()
	b, names := newFaked(t), 0
	rapid.Check(t, func(t *rapid.T) {
		names++
		b.t, b.name = t, "model"+strconv.Itoa(names)
		f := &fair{now: b.now(), memory: memoryMs, deadlines: map[string]int64{}, alive: map[string]word{}, gone: map[string]int64{}}
		waiter := rapid.Custom(func(t *rapid.T) string {
			return own(rapid.SampledFrom([]string{here, there}).Draw(t, "client"), rapid.IntRange(1, 4).Draw(t, "n"))
		})
		threads := rapid.Map(rapid.IntRange(1, 3), thread)
		twice := rapid.IntRange(1, 2)
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) { b.requireSame(t, f) },
			"time": func(t *rapid.T) {
				d := rapid.SampledFrom([]int64{1, 400, 1000, 1400, 5000, 10_001, 31_000, 300_000, triedMs + 1}).Draw(t, "ms")
				b.server.Forward(time.Duration(d) * time.Millisecond)
				f.now += d
			},
			"acquire": func(t *rapid.T) {
				owner, mode := waiter.Draw(t, "owner"), rapid.SampledFrom([]string{once, queue, queue, again}).Draw(t, "mode")
				for range twice.Draw(t, "times") { // what the first says of itself is a reason to take others for gone
					require.Equal(t, f.acquire(owner, mode), outcome(b.acquire(owner, mode)))
				}
			},
			"release": func(t *rapid.T) {
				owner, next := waiter.Draw(t, "owner"), rapid.SliceOfN(waiter, 0, 3).Draw(t, "candidates")
				if rapid.Bool().Draw(t, "holder") && ours(f.holder) {
					owner = f.holder
				}
				want := f.release(owner, next)
				got := b.release(owner, next...)
				require.Equal(t, want == "not held", got == "-1")
				require.Equal(t, ours(want), strings.HasPrefix(got, want+","))
				if rapid.Bool().Draw(t, "twice") {
					f.release(owner, next)
					b.release(owner, next...)
				}
			},
			"leave": func(t *rapid.T) {
				owner, way := waiter.Draw(t, "owner"), rapid.SampledFrom([]string{place, quit, buried}).Draw(t, "way")
				f.leave(owner, way)
				for range twice.Draw(t, "times") {
					b.leave(owner, way)
				}
			},
			"keep": func(t *rapid.T) {
				client := rapid.SampledFrom([]string{here, there}).Draw(t, "client")
				walk := rapid.SampledFrom([]string{"0", "1", "2"}).Draw(t, "walk")
				var lost []string
				for _, n := range rapid.SliceOfNDistinct(rapid.IntRange(1, 4), 0, 3, rapid.ID).Draw(t, "lost") {
					lost = append(lost, own(client, n))
				}
				on := rapid.SampledFrom([]int64{0, 249, 250, 3000}).Draw(t, "on its way")
				want := f.keep(client, on >= 250, walk != "0", lost)
				for range twice.Draw(t, "times") {
					reply := b.keepAfter(time.Duration(on)*time.Millisecond, client, walk, lost...)
					require.Equal(t, want, strings.Split(reply, ",")[1])
				}
			},
			"java acquire": func(t *rapid.T) {
				owner, wait := threads.Draw(t, "thread"), rapid.SampledFrom([]int64{300_000, 5000}).Draw(t, "wait")
				f.javaAcquire(owner, wait)
				b.javaAcquire(owner, int(wait))
			},
			"java cancel": func(t *rapid.T) {
				owner, wait := threads.Draw(t, "thread"), rapid.SampledFrom([]int64{300_000, 5000}).Draw(t, "wait")
				f.javaCancel(owner, wait)
				b.javaCancel(owner, int(wait))
			},
			"java unlock": func(t *rapid.T) {
				owner := threads.Draw(t, "thread")
				for f.holder == owner && b.do("HGET", b.name, owner).Error() == nil { // all its levels
					if b.javaUnlock(owner) == "unlocked" {
						f.javaUnlock(owner)
						return
					}
				}
			},
		})
	})
}

func outcome(reply string) string {
	if reply == "0" {
		return "acquired"
	}
	return "refused"
}

// A waiter keeps its place for as long as its process says that it waits,
// whatever Redisson's processes do ahead of it and behind.
func TestAPlaceIsKeptForAnyTime(t *testing.T) {
	t.Parallel()
	b := newFaked(t)
	b.name = "kept"
	b.stay(t, "1")
	require.Equal(t, []string{a, x}, b.queue()[:2])
	for _, owner := range []string{a, x} {
		require.GreaterOrEqual(t, b.deadline(owner), slackMs*time.Millisecond/2, owner)
	}
}

// Without the deadlines written anew, the next step of Redisson's drops it.
func TestAPlaceIsLostWithoutItsRefresh(t *testing.T) {
	t.Parallel()
	b := newFaked(t)
	b.name = "lost"
	b.stay(t, "0")
	require.NotContains(t, b.queue(), a)
	require.NotContains(t, b.queue(), x)
}

// stay lets two waiters of ours wait for 400 s behind threads of Redisson's
// that take the lock, or cancel, and others that come and go.
func (b *faked) stay(t *testing.T, walk string) {
	t.Helper()
	require.Equal(t, "taken", b.javaAcquire(thread(1), 300_000))
	require.Equal(t, "queued", b.javaAcquire(thread(2), 300_000))
	require.Equal(t, "queued", b.javaAcquire(thread(3), 300_000))
	b.acquire(a, queue)
	b.acquire(x, queue)
	holder := thread(1)
	for second := range 400 {
		for _, client := range []string{here, there} {
			b.keep(client, map[bool]string{true: walk, false: "0"}[second%3 == 0])
		}
		b.do("PEXPIRE", b.name, strconv.Itoa(leaseMs)) // its watchdog
		switch second {
		case 100:
			require.Equal(t, "unlocked", b.javaUnlock(holder))
			holder = thread(2)
			require.Equal(t, "taken", b.javaAcquire(holder, 300_000))
		case 200:
			b.javaCancel(thread(3), 300_000)
		default:
			b.javaAcquire(thread(9), 0) // a try of somebody else, which drops a front whose deadline has passed
		}
		b.server.Forward(time.Second)
	}
}
