package redistest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDecoderReadsEveryKindOfFrame(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		raw  string
		want any
	}{
		"simple string":       {"+OK\r\n", "OK"},
		"error":               {"-ERR no\r\n", replyError("ERR no")},
		"integer":             {":-7\r\n", int64(-7)},
		"bulk":                {"$5\r\na\r\nb \r\n", "a\r\nb "},
		"empty bulk":          {"$0\r\n\r\n", ""},
		"RESP2 null":          {"$-1\r\n", nil},
		"RESP2 null array":    {"*-1\r\n", nil},
		"RESP3 null":          {"_\r\n", nil},
		"double":              {",1.5\r\n", "1.5"},
		"boolean":             {"#t\r\n", "t"},
		"big number":          {"(123\r\n", "123"},
		"bulk error":          {"!6\r\nERR no\r\n", replyError("ERR no")},
		"verbatim":            {"=6\r\ntxt:ab\r\n", "txt:ab"},
		"nested array":        {"*2\r\n:1\r\n*1\r\n+a\r\n", []any{int64(1), []any{"a"}}},
		"map":                 {"%1\r\n+a\r\n:1\r\n", []any{"a", int64(1)}},
		"set":                 {"~1\r\n+a\r\n", []any{"a"}},
		"push":                {">2\r\n+message\r\n+c\r\n", push{"message", "c"}},
		"attributes in front": {"|1\r\n+ttl\r\n:1\r\n:5\r\n", int64(5)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDecoder(strings.NewReader(tc.raw + "+next\r\n"))
			value, raw, err := d.frame()
			require.NoError(t, err)
			require.Equal(t, tc.want, value)
			require.Equal(t, tc.raw, string(raw))
			value, _, err = d.frame()
			require.NoError(t, err)
			require.Equal(t, "next", value)
		})
	}
}

func TestDecoderRefusesWhatIsNotRESP(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"\r\n", "$x\r\n", "?1\r\n", "$5\r\nab", "*1\r\n", ":\r\n"} {
		_, _, err := newDecoder(strings.NewReader(raw)).frame()
		require.Error(t, err, "%q", raw)
	}
}

func TestDecoderReadsRequests(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string][]string{
		string(encode("SET", "k", "a\r\nb")): {"SET", "k", "a\r\nb"},
		"PING  now\r\n":                      {"PING", "now"},
		"\r\n":                               {},
	} {
		cmd, got, err := newDecoder(strings.NewReader(raw)).request()
		require.NoError(t, err)
		require.Equal(t, want, cmd)
		require.Equal(t, raw, string(got))
	}
	_, _, err := newDecoder(strings.NewReader("*1\r\n:1\r\n")).request()
	require.ErrorIs(t, err, errProtocol)
}

func TestLedgerAnswersInOrder(t *testing.T) {
	t.Parallel()
	names := func(l *ledger, frames ...any) []string {
		var out []string
		for _, f := range frames {
			if s := l.received(f); s != nil {
				out = append(out, strings.Join(s.cmd, " "))
			} else {
				out = append(out, "-")
			}
		}
		return out
	}
	for name, tc := range map[string]struct {
		sent   string
		frames []any
		want   []string
	}{
		"pipeline":                  {"GET a;GET b", []any{"1", nil}, []string{"GET a", "GET b"}},
		"message between":           {"GET a", []any{push{"message", "c", "m"}, "1"}, []string{"-", "GET a"}},
		"invalidation":              {"GET a", []any{push{"invalidate", nil}, "1"}, []string{"-", "GET a"}},
		"reply looks like message":  {"LRANGE l", []any{[]any{"message", "x"}}, []string{"LRANGE l"}},
		"reply looks like confirm":  {"LRANGE l", []any{[]any{"subscribe", "x"}}, []string{"LRANGE l"}},
		"RESP3 subscribe":           {"SUBSCRIBE a b;PING", []any{push{"subscribe", "a", int64(1)}, push{"subscribe", "b", int64(2)}, "PONG"}, []string{"-", "SUBSCRIBE a b", "PING"}},
		"RESP2 subscribe":           {"SUBSCRIBE a", []any{[]any{"subscribe", "a", int64(1)}, []any{"message", "a", "m"}}, []string{"SUBSCRIBE a", "-"}},
		"refused subscribe":         {"SSUBSCRIBE a;PING", []any{replyError("MOVED 1 x"), "PONG"}, []string{"SSUBSCRIBE a", "PING"}},
		"unsubscribe by the server": {"PING", []any{push{"sunsubscribe", "a", int64(0)}, "PONG"}, []string{"-", "PING"}},
		"unsubscribe from all": {
			"SUBSCRIBE a b;UNSUBSCRIBE;PING",
			[]any{push{"subscribe", "a"}, push{"subscribe", "b"}, push{"unsubscribe", "b"}, push{"unsubscribe", "a"}, "PONG"},
			[]string{"-", "SUBSCRIBE a b", "-", "UNSUBSCRIBE", "PING"},
		},
		"unsubscribe from none": {"PUNSUBSCRIBE;PING", []any{push{"punsubscribe", nil, int64(0)}, "PONG"}, []string{"PUNSUBSCRIBE", "PING"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var l ledger
			for cmd := range strings.SplitSeq(tc.sent, ";") {
				l.sent(strings.Fields(cmd), nil)
			}
			require.Equal(t, tc.want, names(&l, tc.frames...))
			require.Empty(t, l.waiting)
		})
	}
}

func TestSlot(t *testing.T) {
	t.Parallel()
	require.Equal(t, 0x31C3, Slot("123456789"))
	require.Equal(t, 12182, Slot("foo"))
	require.Equal(t, Slot("foo"), Slot("x{foo}y"))
	require.Equal(t, Slot("{user}.a"), Slot("{user}.b"))
	require.NotEqual(t, Slot("{}a"), Slot("{}b"))
}
