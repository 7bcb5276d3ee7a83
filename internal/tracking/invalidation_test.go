package tracking_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/tracking"
)

// teller is a server that says on its tracked connection what a test has it say.
type teller struct {
	mu    sync.Mutex
	tells string // before it answers to INFO
}

func (s *teller) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		var args int
		if _, err := fmt.Fscanf(in, "*%d\r\n", &args); err != nil {
			return
		}
		var cmd []string
		for range args {
			var n int
			if _, err := fmt.Fscanf(in, "$%d\r\n", &n); err != nil {
				return
			}
			arg := make([]byte, n+2)
			if _, err := io.ReadFull(in, arg); err != nil {
				return
			}
			cmd = append(cmd, string(arg[:n]))
		}
		answer := "+OK\r\n"
		switch strings.Join(cmd[:min(len(cmd), 2)], " ") {
		case "HELLO 3", "HELLO":
			answer = "%2\r\n+version\r\n+8.0.0\r\n+proto\r\n:3\r\n"
		case "CLIENT INFO":
			answer = "+id=7 flags=t\r\n"
		}
		if cmd[0] == "INFO" { // which only the tracked connection is asked for
			s.mu.Lock()
			answer, s.tells = s.tells+answer, ""
			s.mu.Unlock()
		}
		if _, err := conn.Write([]byte(answer)); err != nil {
			return
		}
	}
}

// told is the keys that a tracked connection to the server has heard of.
type told struct {
	mu  sync.Mutex
	all [][]string
}

func (h *told) changed(keys []string) { h.mu.Lock(); defer h.mu.Unlock(); h.all = append(h.all, keys) }

func (h *told) take() [][]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer func() { h.all = nil }()
	return h.all
}

func trackedTo(t testing.TB, s *teller, h *told) *tracking.Dedicated {
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{"teller:0"}, ForceSingleClient: true, DisableCache: true, PipelineMultiplex: -1,
		DialCtxFn: func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
			ours, its := net.Pipe()
			go s.serve(its) // ends with the connection
			return ours, nil
		},
	})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	conn := tracking.Take(client)
	t.Cleanup(conn.Close)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	require.NoError(t, conn.Probe(ctx))
	require.NoError(t, conn.Start(ctx, h.changed))
	return conn
}

// elements is what an invalidation names, in RESP, and the keys among it; nil if
// there is anything else.
func elements(b []byte) (resp []string, keys []string) {
	all := true
	for len(b) >= 2 {
		kind, n := b[0]%8, min(int(b[1]), len(b)-2)
		text := string(b[2 : 2+n])
		b = b[2+n:]
		switch kind {
		case 0, 1, 2:
			resp = append(resp, fmt.Sprintf("$%d\r\n%s\r\n", len(text), text))
			keys = append(keys, text)
			continue
		case 3:
			word := fmt.Sprintf("%x", text)
			resp = append(resp, "+"+word+"\r\n")
			keys = append(keys, word)
			continue
		case 4:
			resp = append(resp, fmt.Sprintf(":%d\r\n", n))
		case 5:
			resp = append(resp, "_\r\n")
		case 6:
			resp = append(resp, fmt.Sprintf("*1\r\n$%d\r\n%s\r\n", len(text), text))
		case 7:
			resp = append(resp, fmt.Sprintf("-ERR %x\r\n", text))
		}
		all = false
	}
	if !all {
		keys = nil
	}
	return resp, keys
}

// FuzzInvalidation: what a server says of keys drops all of them, and what is not
// only keys drops everything.
func FuzzInvalidation(f *testing.F) {
	for _, seed := range []string{
		"", "\x00\x01k", "\x00\x00", "\x00\x03abc\x01\x02{}", "\x03\x02ab\x00\x01\xff", "\x00\x01k\x04\x00", "\x04\x01k", "\x05\x00", "\x00\x01k\x05\x00",
		"\x06\x01k", "\x00\x01k\x06\x01l", "\x00\x01k\x07\x01l\x00\x01m",
	} {
		f.Add([]byte(seed))
	}
	s, h := &teller{}, &told{}
	conn := trackedTo(f, s, h)
	hears := func(t *testing.T, said string, keys []string) {
		s.mu.Lock()
		s.tells = ">2\r\n$10\r\ninvalidate\r\n" + said
		s.mu.Unlock()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := conn.Master(ctx)
		require.NoError(t, err, "%q", said)
		require.Equal(t, [][]string{keys}, h.take(), "%q", said)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		resp, keys := elements(b)
		list := fmt.Sprintf("%d\r\n%s", len(resp), strings.Join(resp, ""))
		hears(t, "*"+list, keys)
		hears(t, "~"+list, keys)
		hears(t, "_\r\n", nil)
		for _, one := range resp {
			if one[0] != '*' {
				hears(t, one, nil)
			}
		}
	})
}

// FuzzField: of a line about a client, the field of a name is what follows it, up
// to the next space.
func FuzzField(f *testing.F) {
	f.Add("id=7 addr=127.0.0.1:1 name= flags=tN db=0", "flags")
	f.Add("txt:id=7 flags=t\n", "id")
	f.Add("id=", "id")
	f.Add("xid=7", "id")
	f.Add("", "")
	f.Fuzz(func(t *testing.T, line, name string) {
		got := tracking.Field(line, name)
		if got != "" {
			require.Contains(t, line, name+"="+got)
			require.Len(t, strings.Fields(got), 1)
		}
		if name != "" && !strings.ContainsFunc(name, func(r rune) bool { return r == '=' || unicode.IsSpace(r) }) {
			require.Equal(t, "7", tracking.Field("="+name+" "+name+"=7 c=d", name))
			require.Equal(t, "", tracking.Field("x"+name+"=7", name))
		}
	})
}
