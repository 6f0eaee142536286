package csidriver

import (
	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// redacted stands where a secret was.
const redacted = "***"

// redact returns a copy of m in which every field that the CSI spec marks with csi_secret has its values replaced, at
// any depth. The keys of a secret map stay: they name what was sent and are no secrets.
func redact(m proto.Message) proto.Message {
	c := proto.Clone(m)
	redactFields(c.ProtoReflect())
	return c
}

func redactFields(m protoreflect.Message) {
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case isSecret(field):
			redactValue(m, field, value)
		case field.IsMap():
			if field.MapValue().Message() != nil {
				value.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
					redactFields(v.Message())
					return true
				})
			}
		case field.Message() == nil:
		case field.IsList():
			for i := range value.List().Len() {
				redactFields(value.List().Get(i).Message())
			}
		default:
			redactFields(value.Message())
		}
		return true
	})
}

func isSecret(field protoreflect.FieldDescriptor) bool {
	options, ok := field.Options().(*descriptorpb.FieldOptions)
	if !ok || !proto.HasExtension(options, csi.E_CsiSecret) {
		return false
	}
	secret, ok := proto.GetExtension(options, csi.E_CsiSecret).(bool)
	return ok && secret
}

func redactValue(m protoreflect.Message, field protoreflect.FieldDescriptor, value protoreflect.Value) {
	stars := protoreflect.ValueOfString(redacted)
	switch {
	case field.IsMap() && field.MapValue().Kind() == protoreflect.StringKind:
		entries := value.Map()
		entries.Range(func(key protoreflect.MapKey, _ protoreflect.Value) bool {
			entries.Set(key, stars)
			return true
		})
	case !field.IsMap() && !field.IsList() && field.Kind() == protoreflect.StringKind:
		m.Set(field, stars)
	default:
		// A kind that cannot hold the stars: nothing of it may be shown.
		m.Clear(field)
	}
}
