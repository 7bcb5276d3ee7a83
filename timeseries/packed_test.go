package timeseries

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTheBytesOfRedisson reads what Redisson 4.7.0 and a newer one wrote.
func TestTheBytesOfRedisson(t *testing.T) {
	t.Parallel()
	id := "3031323334353637" + "3839616263646566"
	for name, c := range map[string]struct {
		hex string
		is  packed
	}{
		"no label":       {"0210" + id + "0300000000000000" + "038276" + "0000000000000000", packed{value: "\x03\x82\x76"}},
		"a label":        {"0310" + id + "0300000000000000" + "038277" + "0400000000000000" + "036c61e2", packed{"\x03\x82\x77", "\x03la\xe2", true}},
		"newer":          {"0414" + strings.Repeat("30", 19) + "31" + "0300000000000000" + "76616c" + "0100000000000000" + "02", packed{value: "val"}},
		"newer, a label": {"0414" + strings.Repeat("30", 19) + "32" + "0300000000000000" + "76616c" + "0400000000000000" + "036c6162", packed{"val", "lab", true}},
	} {
		b, err := hex.DecodeString(c.hex)
		require.NoError(t, err, name)
		p, err := unpack(string(b))
		require.NoError(t, err, name)
		require.Equal(t, c.is, p, name)
		if !strings.HasPrefix(name, "newer") {
			require.Equal(t, string(b), p.text("0123456789abcdef"), name)
		}
	}
}

// FuzzUnpack reads any bytes. What is an entry of the forms that are written here has these bytes.
func FuzzUnpack(f *testing.F) {
	whole := packed{"value", "label", true}.text(idOf("id"))
	f.Add("")
	f.Add("text")
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Add(whole + "x")
	f.Add(packed{}.text(idOf("")))
	f.Add(packed{value: strings.Repeat("v", 300)}.text(idOf("x")))
	f.Add("\x04" + packed{"v", "\x02", true}.text(idOf("x"))[1:])
	f.Add("\x04" + packed{"v", "\x03l", true}.text(idOf("x"))[1:])
	f.Add("\x04" + packed{"v", "", true}.text(idOf("x"))[1:])
	f.Add("\x02\x00" + "\xff\xff\xff\xff\xff\xff\xff\xff" + "\x00\x00\x00\x00\x00\x00\x00\x00")
	f.Add("\x02\x00" + "\x00\x00\x00\x00\x00\x00\x00\x80" + "\x00\x00\x00\x00\x00\x00\x00\x00")
	f.Add("\x02\xff" + strings.Repeat("i", 255) + strings.Repeat("\x00", 16))
	f.Add("\x05\x00" + strings.Repeat("\x00", 16))
	f.Fuzz(func(t *testing.T, text string) {
		p, err := unpack(text)
		if err != nil {
			assert.Equal(t, packed{}, p)
			return
		}
		id := text[2 : 2+int(text[1])]
		if text[0] != tagged {
			assert.Equal(t, text, p.text(id))
		}
		again, err := unpack(p.text(id))
		assert.NoError(t, err)
		assert.Equal(t, p, again)
	})
}

func FuzzTimeOf(f *testing.F) {
	for _, score := range []string{"0", "-1", "1000", "1.5", "inf", "-inf", "nan", "9007199254740992", "1e+17", "9.3e18", "", "x"} {
		f.Add(score)
	}
	f.Fuzz(func(t *testing.T, score string) {
		if at, err := timeOf(score); err == nil && !at.Before(Earliest) && !at.After(Latest) {
			again, err := scoreOf(at)
			assert.NoError(t, err)
			same, err := timeOf(again)
			assert.NoError(t, err)
			assert.True(t, at.Equal(same))
		}
	})
}
