package codec_test

import (
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson/codec"
)

func ExampleFor() {
	type order struct {
		ID    int64 `json:"id"`
		Items int   `json:"items"`
	}
	c := codec.For[order](codec.Jackson("com.acme.Order"))
	bytes, err := c.Append(nil, order{ID: 7, Items: 2})
	fmt.Println(string(bytes), err)
	back, err := c.Decode([]byte(`{"@class":"com.acme.Order","id":8,"items":1}`))
	fmt.Println(back, err)
	// Output:
	// {"@class":"com.acme.Order","id":7,"items":2} <nil>
	// {8 1} <nil>
}

func ExampleKey() {
	key, err := codec.Encode(codec.Key[int64](), 42)
	fmt.Println(key, err)
	_, err = codec.Encode(codec.Key[float64](), 1.5)
	fmt.Println(errors.Is(err, codec.ErrInvalidArgument), err)
	// Output:
	// 42 <nil>
	// true invalid argument: float64 cannot be a key: take a string, an integer, a bool, an array of bytes or a type with MarshalText and UnmarshalText
}

func ExampleFor_strict() {
	_, err := codec.For[int8](codec.Msgpack).Decode([]byte{0xcd, 0x01, 0x00})
	fmt.Println(err)
	_, err = codec.For[int64](codec.Kryo5).Decode([]byte{0x02, 0x02})
	fmt.Println(err)
	// Output:
	// 256 is outside of what int8 can be
	// an Integer of Kryo (tag 0x02), not a Long (0x09)
}
