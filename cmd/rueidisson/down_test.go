package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
)

// reaching are arguments with which each command reaches for its server, by the words of the command.
var reaching = map[string]string{
	"lock":           "x -- true",
	"elect":          "x -- true",
	"observe":        "x",
	"inspect":        "x",
	"force-unlock":   "x",
	"limit set":      "x --rate 1/s",
	"limit show":     "x",
	"limit take":     "x",
	"limit peek":     "x",
	"limit watch":    "x",
	"limit reset":    "x",
	"limit block":    "x --for 1",
	"limit pause":    "x",
	"limit resume":   "x",
	"limit rm":       "x",
	"limit ls":       "",
	"limit top":      "x",
	"sem set":        "x 1",
	"sem acquire":    "x",
	"sem try":        "x",
	"sem release":    "x",
	"sem info":       "x",
	"sem rm":         "x",
	"permit set":     "x 1",
	"permit run":     "x -- true",
	"permit release": "x 285475da91524c8300d64ec1b30d2fa7",
	"permit info":    "x",
	"permit rm":      "x",
	"latch set":      "x 1",
	"latch down":     "x",
	"latch await":    "x",
	"latch info":     "x",
	"latch rm":       "x",
	"barrier await":  "x 2",
	"barrier info":   "x",
	"barrier reset":  "x",
	"map get":        "x k",
	"map put":        "x k v",
	"map rm":         "x k",
	"map ls":         "x",
	"map watch":      "x --cache",
	"map dead":       "x",
	"map redrive":    "x",
	"map purge":      "x",
	"latch ls":       "",
	"sem ls":         "",
	"permit ls":      "",
	"barrier ls":     "",
	"bloom add":      "x v",
	"bloom has":      "x v",
	"bloom info":     "x",
	"bloom init":     "x 10",
	"bloom rm":       "x",
	"counter add":    "x 1",
	"counter get":    "x",
	"counter set":    "x 1",
	"id next":        "x",
	"keys count":     "x*",
	"keys ls":        "x*",
	"keys rm":        "x* --yes",
	"set add":        "x v",
	"set has":        "x v",
	"set ls":         "x",
	"set rm":         "x v",
	"zset add":       "x 1 v",
	"zset rank":      "x v",
	"zset top":       "x",
	"stream ls":      "",
	"stream info":    "x",
	"stream rm":      "x",
	"multimap ls":    "",
	"multimap get":   "x k",
	"multimap put":   "x k v",
	"multimap info":  "x",
	"multimap rm":    "x",
	"election ls":    "",
	"election info":  "x",
	"election rm":    "x",
	"barrier rm":     "x",
	"map info":       "x",
	"queue info":     "x",
	"queue rm":       "x",
	"queue add":      "x v",
	"queue take":     "x",
	"queue peek":     "x",
	"queue len":      "x",
	"queue ls":       "x",
	"queue drain":    "x",
	"queue keep":     "x",
	"stream dead":    "x g",
	"stream redrive": "x g",
	"stream purge":   "x g",
	"topic publish":  "x m",
	"topic listen":   "x",
	"topic dead":     "x d",
	"topic redrive":  "x d",
	"topic purge":    "x d",
	"job add":        "x b",
	"job work":       "x -- true",
	"job stats":      "x",
	"job ls":         "x",
	"job watch":      "x",
	"job pause":      "x",
	"job resume":     "x",
	"job dead":       "x",
	"job redrive":    "x",
	"job purge":      "x",
	"job terms":      "x",
	"job cancel":     "x 1",
	"job rm":         "x 1",
	"job find":       "x 1",
	"job result":     "x 1",
	"job reschedule": "x 1 --now",
	"job queues":     "",
}

// more are the same commands with flags that bound a wait, or say how something is read.
var more = []string{
	"lock x --wait 0 -- true", "lock x --wait 100ms -- true", "lock x --fair -- true", "lock x --read -- true", "lock x --write -- true",
	"lock x --fenced --wait 0 -- true", "elect x --wait 0 -- true", "permit run x --wait 0 -- true", "observe x --for 1",
	"sem acquire x --wait 0", "sem acquire x --wait 100ms", "latch await x --wait 0", "latch await x --wait 100ms", "latch await x --armed --wait 100ms", "barrier await x 2 --wait 100ms",
	"limit take x --wait 1", "limit take x --redisson", "queue take x --wait 100ms", "queue take x --delayed", "queue take x --bounded",
	"queue peek x --wait 100ms", "queue add x v --bounded --wait 0", "queue add x v --delayed --delay 1", "queue keep x --for 1",
	"topic listen x --for 1", "topic listen x --pattern", "topic listen x --sharded", "map watch x --cache --for 1", "map get x k --sharded", "map rm x --all", "queue rm x --delayed", "map get x k --cache",
	"map get x k --native", "map ls x --cache", "job work x --drain -- true", "job work x --for 1 -- true", "job result x 1 --wait 100ms",
	"job watch x --for 1", "limit watch x --for 1",
}

// saysTheWrong are answers that only a server gives.
var saysTheWrong = []string{"not acquired", "empty", "not open", "not armed", "nothing came", "not all parties", "sold out", "no room"}

// TestAllCommandsReach: the table of this file has all commands that need a server.
func TestAllCommandsReach(t *testing.T) {
	t.Parallel()
	eachCommand(cli.Tree(), func(cmd *cobra.Command) {
		words := strings.TrimPrefix(cmd.CommandPath(), "rueidisson ")
		if cmd.HasSubCommands() || slices.Contains([]string{"version", "completion", "man"}, words) {
			return
		}
		assert.Contains(t, reaching, words)
	})
}

// eachReaching calls do with all commands that reach for a server.
func eachReaching(do func(args []string)) {
	for command, args := range reaching {
		do(append(strings.Fields(command), strings.Fields(args)...))
	}
	for _, args := range more {
		do(strings.Fields(args))
	}
}

// TestServerThatIsNotThere: all commands end with 69, name the address, and say nothing that only a server knows.
func TestServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	const nobody = "127.0.0.1:1"
	eachReaching(func(args []string) {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			got := runHere(t, []string{envRedis + "=redis://" + nobody}, args...)
			saysDown(t, got, nobody)
		})
	})
}

func saysDown(t *testing.T, got said, address string) {
	t.Helper()
	require.Equal(t, exit.Unavailable, got.code, "%v", got)
	assert.Contains(t, got.errors, address)
	assert.Empty(t, got.out)
	for _, wrong := range saysTheWrong {
		assert.NotContains(t, got.errors, wrong)
	}
}

// TestStoppedServer: a server that takes connections and does not answer is down, too.
func TestStoppedServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Pause()
	t.Cleanup(server.Resume)
	eachReaching(func(args []string) {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			got := runHere(t, []string{envRedis + "=redis://" + server.Addr() + "?dial_timeout=300ms&write_timeout=300ms"}, args...)
			saysDown(t, got, server.Addr())
		})
	})
}

// TestServerThatStopsUnderAWait: no wait whose time ends while the server is silent says that it heard an answer.
func TestServerThatStopsUnderAWait(t *testing.T) {
	t.Parallel()
	const wait = " --wait 4"
	for args, setup := range map[string][]string{
		"latch await x":          {"latch set x 1"},
		"latch await x --armed":  nil,
		"barrier await x 2":      nil,
		"queue take x":           nil,
		"queue take x --delayed": nil,
		"job result x 1":         {"job add x body"},
		"sem acquire x":          {"sem set x 0"},
		"lock x --fair":          nil,
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			client, url := server.Client(t), "redis://"+server.Addr()
			for _, s := range setup {
				got := runHere(t, []string{envRedis + "=" + url}, strings.Fields(s)...)
				require.Zero(t, got.code, got.errors)
				args = strings.Replace(args, "result x 1", "result x "+strings.TrimSpace(got.out), 1)
			}
			args += wait
			if strings.HasPrefix(args, "lock") {
				require.NoError(t, client.Do(t.Context(), client.B().Hset().Key("x").FieldValue().FieldValue("6f5c2ae5-5a3c-4d6e-9d36-0a4a0b2d8f11:7", "1").Build()).Error())
				args += " -- true"
			}
			p := start(t, url, strings.Fields(args)...)
			redistest.Eventually(t, func() bool { return waits(t, client, args) }, patience, time.Millisecond)
			server.Pause()
			assert.Equal(t, exit.Unavailable, p.code())
			saysDown(t, said{p.cmd.ProcessState.ExitCode(), strings.Join(p.said(), "\n"), p.errors()}, server.Addr())
			server.Resume()
		})
	}
}

// waits reports whether the command is blocked on the server, or listens there to all that it listens to.
func waits(t *testing.T, c rueidis.Client, args string) bool {
	channels, err := c.Do(t.Context(), c.B().PubsubChannels().Build()).AsStrSlice()
	sharded, err3 := c.Do(t.Context(), c.B().PubsubShardchannels().Build()).AsStrSlice()
	patterns, err4 := c.Do(t.Context(), c.B().PubsubNumpat().Build()).AsInt64()
	info, err2 := c.Do(t.Context(), c.B().Info().Section("clients").Build()).ToString()
	return errors.Join(err, err2, err3, err4) == nil && (len(channels)+len(sharded) > 0 || patterns > 0 || !strings.Contains(info, "blocked_clients:0\r\n"))
}

// awaitStream returns when a stream waits. A watch of a map listens to its last channel before it has told the cache: it
// waits when it has said what it heard.
func awaitStream(t *testing.T, server *redistest.Server, p *process, args string) {
	t.Helper()
	client := server.Client(t)
	redistest.Eventually(t, func() bool { return waits(t, client, args) }, patience, time.Millisecond)
	if !strings.HasPrefix(args, "map watch") {
		return
	}
	c, err := rueidisson.Wrap(client)
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close(context.Background())) }()
	m := rmap.NewCache[string, string](c, "x")
	redistest.Eventually(t, func() bool { return m.Put(t.Context(), "k", "v") == nil && len(p.said()) > 0 }, patience, time.Millisecond)
}

// streams go on for long.
var streams = []string{"topic listen x", "topic listen x --pattern", "topic listen x --sharded", "observe x", "map watch x --cache", "queue keep x", "job work x -- true"}

// errorLines returns how many lines of standard error have a text.
func (p *process) errorLines(text string) (n int) {
	for line := range strings.Lines(p.errors()) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// TestStreamTellsThatTheServerIsLostAndBack: a line for each, and Ctrl-C ends it with 0.
func TestStreamTellsThatTheServerIsLostAndBack(t *testing.T) {
	t.Parallel()
	for _, args := range streams {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			p := start(t, "redis://"+server.Addr(), strings.Fields(args)...)
			awaitStream(t, server, p, args)
			server.Kill()
			redistest.Eventually(t, func() bool { return p.errorLines("lost the server "+server.Addr()) == 1 }, patience, time.Millisecond)
			server.Restart()
			redistest.Eventually(t, func() bool { return p.errorLines("the server "+server.Addr()+" is back") == 1 }, patience, time.Millisecond)
			p.signal(os.Interrupt)
			assert.Zero(t, p.code(), p.errors())
			assert.Equal(t, 2, strings.Count(p.errors(), "\n"), p.errors())
		})
	}
}

// TestStreamWhoseTimeEndsWhileTheServerIsAway: it ends with 69, also with --json.
func TestStreamWhoseTimeEndsWhileTheServerIsAway(t *testing.T) {
	t.Parallel()
	for _, args := range streams {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			command, cmd, runs := strings.Cut(args, " -- ")
			words := append(strings.Fields(command), "--for", "8", "--json")
			if runs {
				words = append(words, "--", cmd)
			}
			p := start(t, "redis://"+server.Addr(), words...)
			awaitStream(t, server, p, args)
			server.Kill()
			assert.Equal(t, exit.Unavailable, p.code())
			assert.Equal(t, 1, p.errorLines(`{"connection":"lost","error":"`), p.errors())
			assert.Equal(t, 1, p.errorLines(server.Addr()+" is still away"), p.errors())
		})
	}
}
