package peer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRequestLineKeepsWordsApart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		words []string
		line  string
	}{
		"plain words":            {[]string{"t1", "lock", "lock", "orders"}, "7 t1 lock lock orders\n"},
		"a space inside a word":  {[]string{"a b", "c"}, "7 a+b c\n"},
		"a line break":           {[]string{"a\nb"}, "7 a%0Ab\n"},
		"an empty word":          {[]string{"", ""}, "7  \n"},
		"the text of null":       {[]string{"-"}, "7 %2D\n"},
		"bytes that are no text": {[]string{"\xff\x00"}, "7 %FF%00\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.line, requestLine("7", c.words))
		})
	}
}

func TestParseLine(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]answer{
		"7 ok":              {tag: "7"},
		"7 ok true":         {tag: "7", reply: Reply{{Text: "true"}}},
		"7 ok ":             {tag: "7", reply: Reply{{Text: ""}}},
		"7 ok -":            {tag: "7", reply: Reply{{Null: true}}},
		"7 ok %2D a+b":      {tag: "7", reply: Reply{{Text: "-"}, {Text: "a b"}}},
		"7 err x.E so+what": {tag: "7", err: &JavaError{Class: "x.E", Message: "so what"}},
		"7 err x.E -":       {tag: "7", err: &JavaError{Class: "x.E"}},
		"ready id 4.7.0":    {tag: "ready", reply: Reply{{Text: "id"}, {Text: "4.7.0"}}},
		"fatal x.E no":      {tag: "fatal", err: &JavaError{Class: "x.E", Message: "no"}},
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			got, err := parseLine(line)
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
}

func TestParseLineRefusesWhatIsNoAnswer(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"", "7", "7 maybe", "7 err", "7 err x.E", "7 ok %", "7 ok %GG", "hello world"} {
		_, err := parseLine(line)
		require.Errorf(t, err, "%q", line)
	}
}

func TestReplyConversions(t *testing.T) {
	t.Parallel()
	_, err := Reply{{Null: true}}.Text()
	require.ErrorIs(t, err, ErrNull)
	_, err = Reply{}.Int()
	require.ErrorContains(t, err, "0 values")
	_, err = Reply{{Text: "x"}}.Bool()
	require.Error(t, err)
	counts, err := Reply{{Text: "3"}, {Text: "-1"}}.Ints()
	require.NoError(t, err)
	require.Equal(t, []int64{3, -1}, counts)
}

func FuzzWordsSurviveTheWire(f *testing.F) {
	f.Add("", "-", "a b+c%d")
	f.Add("ключ", "\x00\xff", "\r\n")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		line := requestLine("ok", []string{a, b, c})
		require.Equal(t, 1, countLines(line))
		got, err := parseLine("1 " + line[:len(line)-1])
		require.NoError(t, err)
		require.Equal(t, Reply{{Text: a}, {Text: b}, {Text: c}}, got.reply)
	})
}

func FuzzParseLineNeverPanics(f *testing.F) {
	f.Add("1 ok a")
	f.Add("fatal a b")
	f.Fuzz(func(t *testing.T, line string) {
		if a, err := parseLine(line); err == nil && a.err == nil {
			require.NotEmpty(t, line)
		}
	})
}

func countLines(s string) (n int) {
	for _, r := range s {
		if r == '\n' {
			n++
		}
	}
	return n
}
