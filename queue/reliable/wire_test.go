package reliable

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/send"
)

// foreign is a client of another library: it knows the page, the scripts' files, and plain commands.
type foreign struct {
	t      *testing.T
	c      rueidis.Client
	name   string
	id     string
	number int64
	terms  string
}

// partsOfThePage returns the parts of a queue, in the order in which docs/reliable-wire.md has them.
func partsOfThePage(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile("../../docs/reliable-wire.md")
	require.NoError(t, err)
	of := regexp.MustCompile("(?s)`rueidisson_queue_` with\n\n(.*?)\n\nand `:\\{N\\}` after it").FindStringSubmatch(string(page))
	require.NotNil(t, of)
	var parts []string
	for _, word := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(of[1], -1) {
		parts = append(parts, word[1])
	}
	n := strconv.Itoa(len(parts))
	require.Contains(t, string(page), "KEYS["+n+"]")
	require.Contains(t, string(page), "EVALSHA add "+strconv.Itoa(len(parts)+1)+" <the "+n+" keys>")
	return parts
}

// script returns a file with the parts that it includes before it.
func (f *foreign) script(name string, seen map[string]bool) string {
	f.t.Helper()
	text, err := os.ReadFile(filepath.Join("lua", name))
	if err != nil {
		text, err = os.ReadFile(filepath.Join("../../internal/scripts/parts", name))
	}
	require.NoError(f.t, err)
	before := ""
	for _, line := range regexp.MustCompile(`(?m)^-- Include: (\S+)$`).FindAllStringSubmatch(string(text), -1) {
		if !seen[line[1]] {
			seen[line[1]] = true
			before += f.script(line[1], seen) + "\n"
		}
	}
	return before + string(text)
}

func (f *foreign) key(part string) string { return "rueidisson_queue_" + part + ":{" + f.name + "}" }

// eval runs a script on the parts of the queue and further keys.
func (f *foreign) eval(name string, more []string, args ...string) rueidis.RedisMessage {
	f.t.Helper()
	var on []string
	for _, part := range partsOfThePage(f.t) {
		on = append(on, f.key(part))
	}
	on = append(on, more...)
	command := append(append([]string{"EVAL", f.script(name, map[string]bool{}), strconv.Itoa(len(on))}, on...), args...)
	return redistest.Do(f.t, f.c, command...)
}

func (f *foreign) next() string {
	f.number++
	return strconv.FormatInt(f.number, 10)
}

func (f *foreign) adds(values ...string) (first int64) {
	f.t.Helper()
	args := []string{f.next(), "45000", f.key("wake") + ":", "publish", "1", "0", ""}
	for _, v := range values {
		envelope := binary.BigEndian.AppendUint64(nil, uint64(time.Now().UnixMilli()))[1:]
		envelope[0] = 1
		args = append(args, string(envelope)+v)
	}
	got := f.eval("add.lua", []string{f.key("lane") + ":" + f.id + ":0"}, args...)
	all, err := got.ToArray()
	require.NoError(f.t, err)
	require.Len(f.t, all, 3)
	first, err = all[0].AsInt64()
	require.NoError(f.t, err)
	return first
}

// stepped is the answer of a step.
type stepped struct {
	settled, members, bodies []string
	terms                    string
}

// step says what it is done with: members, results by their members, nacks; and takes n.
func (f *foreign) step(number string, n int, role string, acks, results, nacks []string) stepped {
	f.t.Helper()
	args := []string{
		number, "45000", f.key("wake") + ":", "publish", "1", f.id, strconv.Itoa(n), "30000", f.terms, "", "5000", role, "1",
		f.key("done_ids"), "1", f.id + " 7 elsewhere", "-", strconv.Itoa(len(acks)),
	}
	args = append(args, acks...)
	for _, member := range acks {
		args = append(args, strings.SplitN(member, ":", 2)[0])
	}
	args = append(append(args, strconv.Itoa(len(results)/3)), results...)
	args = append(append(args, strconv.Itoa(len(nacks)/3)), nacks...)
	var more []string
	for i := 0; i < len(results); i += 3 {
		more = append(more, f.key("result")+":"+strings.SplitN(results[i], ":", 2)[0])
	}
	got := f.eval("step.lua", append(more, f.key("lane")+":"+f.id+":1"), args...)
	all, err := texts(send.Answer{RedisMessage: got})
	require.NoError(f.t, err)
	require.GreaterOrEqual(f.t, len(all), 5)
	s := stepped{settled: strings.Split(all[1], ""), terms: all[4]}
	for i, of := range strings.Fields(all[3]) {
		if !strings.Contains(of, ":") {
			of += ":1"
		}
		s.members = append(s.members, of+all[2])
		body := all[5+i]
		switch body[0] {
		case 1:
			body = body[7:]
		case 2:
			n, used := binary.Uvarint([]byte(body[1:]))
			body = body[1+used+int(n):]
		}
		s.bodies = append(s.bodies, body)
	}
	return s
}

// TestClientOfThePageTakesPart: it adds, takes, renews and settles beside this library, by what docs/reliable-wire.md and the
// heads of the scripts say.
func TestClientOfThePageTakesPart(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		ctx := t.Context()
		f := &foreign{t: t, c: r.raw, name: r.name, id: "abcdef0123456789", number: time.Now().UnixMilli() * 1000}
		require.Equal(t, f.key(partsOfThePage(t)[0]), keys.Reliable(r.name)[0])
		require.Len(t, partsOfThePage(t), len(r.of.parts))

		id := f.adds("a", "b")
		m := r.gets("a")
		require.Equal(t, id, m.ID)
		require.WithinDuration(t, time.Now(), m.AddedAt, soon)
		require.NoError(t, m.Ack(ctx))
		r.acks("b")

		require.NoError(t, r.with(WithMaxAttempts(7)).SetTerms(ctx))
		id = r.adds("c", WithHeader("k", "v"))
		got := f.step(f.next(), 1, "-", nil, nil, nil)
		require.Empty(t, got.members, "it does not know the terms")
		require.Equal(t, "=", got.terms[:1])
		f.terms = got.terms[1:]
		number := f.next()
		got = f.step(number, 1, "-", nil, nil, nil)
		require.Equal(t, []string{"c"}, got.bodies)
		require.Equal(t, got.members, f.step(number, 1, "-", nil, nil, nil).members, "said again it takes the same")
		info := r.holds(id, Running)
		require.Equal(t, Owner{Client: f.id, PID: 7, Host: "elsewhere"}, info.Owner)
		held, err := asInts(redistest.Do(t, r.raw, "EVAL", f.script("extend.lua", map[string]bool{}), "1", f.key("lease"), got.members[0], "60000"))
		require.NoError(t, err)
		require.Equal(t, []int64{1}, held)
		set, err := asInt(f.eval("progress.lua", []string{f.key("done") + ":" + f.id + ":1"}, "45000", got.members[0], `"half"`))
		require.NoError(t, err)
		require.EqualValues(t, 1, set)
		require.Equal(t, `"half"`, string(r.holds(id, Running).Progress))
		require.Equal(t, []string{"1"}, f.step(f.next(), 0, "-", got.members, nil, nil).settled)
		require.Equal(t, []string{"0"}, f.step(f.next(), 0, "-", got.members, nil, nil).settled)

		id = r.adds("d")
		got = f.step(f.next(), 1, "-", nil, nil, nil)
		late := got.members[0]
		require.Equal(t, []string{"1"}, f.step(f.next(), 0, "-", nil, nil, []string{late, "0", "no"}).settled)
		m = r.gets("d")
		require.Equal(t, 2, m.Attempt)
		require.Equal(t, []string{"0"}, f.step(f.next(), 0, "-", []string{late}, nil, nil).settled)
		require.NoError(t, m.Nack(ctx, nil, WithDelay(0)))
		got = f.step(f.next(), 1, "-", nil, nil, nil)
		require.Equal(t, []string{"1"}, f.step(f.next(), 0, "-", nil, []string{got.members[0], "60000", "42"}, nil).settled)
		result, err := r.Await(ctx, id)
		require.NoError(t, err)
		require.Equal(t, "42", string(result))

		f.waits(r)
		id = r.adds("f")
		got = f.step(f.next(), 1, "-", nil, nil, nil)
		require.NoError(t, r.Cancel(ctx, id))
		require.Equal(t, []string{"c"}, f.step(f.next(), 0, "-", got.members, nil, nil).settled)
		r.leaves()
	})
}

// waits has the client wait for a message, and be told of it.
func (f *foreign) waits(r *rig) {
	t := f.t
	t.Helper()
	woken, subscribed := make(chan string, 1), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c, release := f.c.Dedicate()
	defer release()
	c.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage:      func(m rueidis.PubSubMessage) { woken <- m.Message },
		OnSubscription: func(rueidis.PubSubSubscription) { close(subscribed) },
	})
	require.NoError(t, c.Do(ctx, c.B().Subscribe().Channel(f.key("wake")+":"+f.id).Build()).Error())
	redistest.Done(t, subscribed)
	require.Empty(t, f.step(f.next(), 1, "w", nil, nil, nil).members)
	r.adds("e")
	require.Equal(t, "w", redistest.Done(t, woken))
	got := f.step(f.next(), 1, "w", nil, nil, nil)
	require.Equal(t, []string{"e"}, got.bodies)
	require.Equal(t, []string{"1"}, f.step(f.next(), 0, "l", got.members, nil, nil).settled)
}

func asInts(m rueidis.RedisMessage) ([]int64, error) { return m.AsIntSlice() }
