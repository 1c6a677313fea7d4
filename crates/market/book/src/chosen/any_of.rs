//! An iterator that is one of several types.

/// Each variant has its own iterator, without a box: depth is read often.
macro_rules! any_of {
    ($($Variant:ident)*) => {
        enum AnyOf<$($Variant),*> {
            $($Variant($Variant),)*
        }

        impl<Item, $($Variant: Iterator<Item = Item>),*> Iterator for AnyOf<$($Variant),*> {
            type Item = Item;

            #[inline]
            fn next(&mut self) -> Option<Item> {
                match self {
                    $(Self::$Variant(iterator) => iterator.next(),)*
                }
            }
        }
    };
}

pub(super) use any_of;
